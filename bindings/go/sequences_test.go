// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const row = 1024

var tokensA, tokensB = []int32{1, 300, 301, 302, 303}, []int32{1, 400, 401}

func sequenceOptions() *ggufx.SessionOptions {
	return &ggufx.SessionOptions{Context: 128, Sequences: 3, MatmulFlags: ggufx.MatmulBatchInvariant}
}

func newSession(t testing.TB, options *ggufx.SessionOptions) *ggufx.Session {
	rt := newRuntime(t)
	return must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil)).NewSession(options))
}

// aloneLogits returns the logits of each token in a separate session.
func aloneLogits(t testing.TB, tokens []int32) []float32 {
	o := sequenceOptions()
	o.Sequences = 1
	return decoded(t, newSession(t, o), ggufx.DecodeItem{Tokens: tokens, Flags: ggufx.DecodeAllLogits})
}

// lastOf are tokens of a sequence, of which the last one's logits are wanted.
func lastOf(sequence uint32, tokens []int32) ggufx.DecodeItem {
	return ggufx.DecodeItem{Sequence: sequence, Tokens: tokens, Flags: ggufx.DecodeLogits}
}

func lastRow(logits []float32) []float32 { return logits[len(logits)-row:] }

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func decoded(t testing.TB, s *ggufx.Session, items ...ggufx.DecodeItem) []float32 {
	t.Helper()
	return must[[]float32](t)(s.Decode(items, nil, nil))
}

func lengths(s *ggufx.Session) [3]uint64 {
	return [3]uint64{s.Length(0), s.Length(1), s.Length(2)}
}

func TestSequencesHaveTheBitsOfSessionsOfTheirOwn(t *testing.T) {
	a, b, s := aloneLogits(t, tokensA), aloneLogits(t, tokensB), newSession(t, sequenceOptions())
	check(t, !equal(lastRow(a), lastRow(b)))
	first := decoded(t, s, ggufx.DecodeItem{Sequence: 2, Tokens: tokensB[:2]},
		ggufx.DecodeItem{Sequence: 0, Tokens: tokensA[:3], Flags: ggufx.DecodeAllLogits})
	check(t, equal(first, a[:3*row]))
	out := make([]float32, 2*row)
	got, err := s.Decode([]ggufx.DecodeItem{{Sequence: 0, Tokens: tokensA[3:], Flags: ggufx.DecodeLogits},
		{Sequence: 2, Tokens: tokensB[2:], Flags: ggufx.DecodeLogits}}, out, nil)
	ok(t, err)
	check(t, &got[0] == &out[0] && equal(out[:row], lastRow(a)) && equal(out[row:], lastRow(b)))
	check(t, lengths(s) == [3]uint64{5, 0, 3} && s.Length(9) == 0)
	check(t, must[ggufx.SessionFacts](t)(s.Info()).Tokens == 8)
}

func TestProductsOfACallHaveFlagsOfTheirOwn(t *testing.T) {
	o := sequenceOptions()
	o.MatmulFlags = 0
	plain := newSession(t, o)
	o.MatmulFlags = ggufx.MatmulF32
	f32, item := newSession(t, o), lastOf(1, tokensA)
	want := decoded(t, f32, item)
	check(t, !equal(decoded(t, plain, item), want))
	again := func(s *ggufx.Session, flags ggufx.MatmulFlags) []float32 {
		ok(t, s.Truncate(1, 0))
		return must[[]float32](t)(s.Decode([]ggufx.DecodeItem{item}, nil, &ggufx.DecodeOptions{MatmulFlags: &flags}))
	}
	check(t, equal(again(plain, ggufx.MatmulF32), want) && !equal(again(f32, 0), want))
}

func TestSequencesAreCopiedAndCut(t *testing.T) {
	s, prompt := newSession(t, sequenceOptions()), []int32{1}
	for id := int32(300); id < 370; id++ {
		prompt = append(prompt, id)
	}
	long := lastRow(aloneLogits(t, append(append([]int32{}, prompt...), 9)))
	check(t, len(decoded(t, s, ggufx.DecodeItem{Sequence: 0, Tokens: prompt, Flags: ggufx.DecodeCheckpoint})) == 0)
	before := must[ggufx.SessionFacts](t)(s.Info())
	check(t, before.Tokens == 71 && before.SharedPages == 0, before)
	ok(t, s.Copy(0, 1, 71))
	after := must[ggufx.SessionFacts](t)(s.Info())
	check(t, after.Tokens == 142 && after.SharedPages > 0 && after.CacheBytes > 0, after)
	both := decoded(t, s, lastOf(1, []int32{9}), lastOf(0, []int32{9}))
	check(t, equal(both[:row], long) && equal(both[row:], long))
	ok(t, s.Truncate(1, 0))
	check(t, lengths(s) == [3]uint64{72, 0, 0})
	decoded(t, s, ggufx.DecodeItem{Sequence: 1, Tokens: tokensA})
	ok(t, s.Truncate(1, 3))
	got := decoded(t, s, lastOf(1, tokensA[3:]))
	check(t, equal(got, lastRow(aloneLogits(t, tokensA))))
	fails(t, s.Copy(0, 1, 2), ggufx.StatusState)
	fails(t, s.Copy(0, 3, 2), ggufx.StatusArgument)
	fails(t, s.Copy(0, 2, 73), ggufx.StatusArgument)
	fails(t, s.Truncate(1, 6), ggufx.StatusArgument)
}

type torn struct{ err error }

func (b torn) Read([]byte) (int, error) { return 0, b.err }

func TestSequencesAreSavedAndLoaded(t *testing.T) {
	from, to := newSession(t, sequenceOptions()), newSession(t, sequenceOptions())
	decoded(t, from, ggufx.DecodeItem{Sequence: 1, Tokens: tokensA[:4]}, lastOf(0, tokensB))
	var data bytes.Buffer
	ok(t, from.Save(1, &data))
	path := filepath.Join(t.TempDir(), "sequence")
	ok(t, from.SaveFile(1, path))
	check(t, bytes.Equal(must[[]byte](t)(os.ReadFile(path)), data.Bytes()))
	ok(t, to.Load(2, bytes.NewReader(data.Bytes())))
	ok(t, to.LoadFile(0, path))
	both := decoded(t, to, lastOf(2, tokensA[4:]), lastOf(0, tokensA[4:]))
	want := lastRow(aloneLogits(t, tokensA))
	check(t, equal(both[:row], want) && equal(both[row:], want))
	err := to.Load(2, bytes.NewReader(data.Bytes()[:data.Len()-1]))
	fails(t, err, ggufx.StatusTruncated)
	check(t, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF))
	wrong := append([]byte{}, data.Bytes()...)
	wrong[len(wrong)-1] ^= 1
	fails(t, to.Load(2, bytes.NewReader(wrong)), ggufx.StatusChecksum)
	fails(t, to.Load(3, bytes.NewReader(data.Bytes())), ggufx.StatusArgument)
	fails(t, to.LoadFile(0, "/nowhere/snapshot"), ggufx.StatusIO)
	mine := errors.New("mine")
	for _, err := range []error{to.Load(0, torn{mine}), from.Save(1, full{mine})} {
		fails(t, err, ggufx.StatusIO)
		check(t, errors.Is(err, mine))
	}
	fails(t, from.Save(3, io.Discard), ggufx.StatusArgument)
	check(t, lengths(to) == [3]uint64{5, 0, 5})
	o := sequenceOptions()
	o.Flags, o.TypeK = ggufx.SessionHasTypeK, ggufx.TypeF32
	fails(t, newSession(t, o).Load(0, bytes.NewReader(data.Bytes())), ggufx.StatusMismatch)
}

func TestABatchFailsAsAWhole(t *testing.T) {
	o := sequenceOptions()
	o.Context = 16
	s, five := newSession(t, o), []int32{5}
	decoded(t, s, lastOf(0, tokensA), lastOf(1, tokensB))
	good := lastOf(0, five)
	refused := func(status ggufx.Status, items ...ggufx.DecodeItem) uint64 {
		t.Helper()
		_, err := s.Decode(items, nil, nil)
		return fails(t, err, status).Index
	}
	check(t, refused(ggufx.StatusArgument, good, lastOf(3, five)) == 1)
	check(t, refused(ggufx.StatusArgument, good, lastOf(1, five), good) == 2)
	check(t, refused(ggufx.StatusArgument, good, lastOf(1, []int32{5, 4000})) == 1)
	check(t, refused(ggufx.StatusArgument, good, ggufx.DecodeItem{Sequence: 1}) == 1)
	check(t, refused(ggufx.StatusCapacity, good, lastOf(1, make([]int32, 14))) == 1)
	refused(ggufx.StatusArgument, ggufx.DecodeItem{Tokens: five, Flags: 1 << 20})
	_, err := s.Decode([]ggufx.DecodeItem{good}, make([]float32, 1023), nil)
	fails(t, err, ggufx.StatusArgument)
	both := ggufx.MatmulTiled | ggufx.MatmulBatchInvariant
	_, err = s.Decode([]ggufx.DecodeItem{good}, nil, &ggufx.DecodeOptions{MatmulFlags: &both})
	fails(t, err, ggufx.StatusArgument)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.Decode([]ggufx.DecodeItem{good}, nil, &ggufx.DecodeOptions{Watch: ggufx.Watch{Context: done}})
	fails(t, err, ggufx.StatusCancelled)
	check(t, lengths(s) == [3]uint64{5, 3, 0})
	var nothing *ggufx.Session
	for _, s := range []*ggufx.Session{s, nothing} {
		ok(t, s.Close())
		_, err = s.Decode([]ggufx.DecodeItem{good}, nil, nil)
		fails(t, err, ggufx.StatusArgument)
		fails(t, s.Save(0, io.Discard), ggufx.StatusArgument)
		check(t, s.Length(0) == 0)
	}
}

func TestTextsAreEdited(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	model := must[*ggufx.Model](t)(rt.NewModel(f, nil))
	width := int(must[ggufx.ModelFacts](t)(model.Info()).Embedding)
	s := must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 300, Sequences: 3, ContextTotal: 128,
		MatmulFlags: ggufx.MatmulTiled}))
	check(t, must[ggufx.SessionFacts](t)(s.Info()).ContextTotal == 128)
	ids, places, rows := make([]int32, 40), make([]int32, 40), make([]float32, 40*width)
	table := must[*ggufx.Tensor](t)(f.Tensor("token_embd.weight"))
	for i := range ids {
		ids[i], places[i] = int32(300+i), int32(i)
		ok(t, rt.Dequantize(rows[i*width:(i+1)*width], table, uint64(ids[i]), 1))
	}
	items := []ggufx.DecodeItem{{Tokens: ids, Flags: ggufx.DecodeLogits | ggufx.DecodeAllHidden},
		{Sequence: 1, InputRows: rows, Positions: places, Flags: ggufx.DecodeLogits | ggufx.DecodeHidden}}
	hidden := make([]float32, 41*width)
	both := must[[]float32](t)(s.Decode(items, nil, &ggufx.DecodeOptions{Hidden: hidden}))
	check(t, equal(both[:row], both[row:]) && equal(hidden[39*width:40*width], hidden[40*width:]))
	ok(t, s.Truncate(2, 0))
	alone := decoded(t, s, ggufx.DecodeItem{Sequence: 2, InputRows: rows[:3*width], Flags: ggufx.DecodeAllLogits})
	check(t, len(alone) == 3*row && s.Length(2) == 3)
	ok(t, s.Truncate(2, 0))
	check(t, must[ggufx.SessionFacts](t)(s.Info()).EmbeddedBytes >= uint64(4*len(rows)))
	ok(t, s.Remove(0, 4, 10))
	ok(t, s.Shift(0, 4, 26, -10))
	left, positions, err := s.Tokens(0, 0, 30)
	ok(t, err)
	check(t, len(left) == 30 && left[3] == 303 && left[4] == 314 && positions[29] == 29)
	fails(t, s.Remove(0, 4, 27), ggufx.StatusArgument)
	fails(t, s.Shift(0, 4, 2, 5), ggufx.StatusArgument)
	_, err = s.Decode([]ggufx.DecodeItem{{Tokens: ids, Positions: places[1:], Flags: ggufx.DecodeLogits}}, nil, nil)
	fails(t, err, ggufx.StatusArgument)
	before := must[ggufx.SessionFacts](t)(s.Info()).TokensLeft
	_, err = s.Decode([]ggufx.DecodeItem{lastOf(2, make([]int32, 300))}, nil, nil)
	check(t, fails(t, err, ggufx.StatusCapacity).Index == 0)
	check(t, must[ggufx.SessionFacts](t)(s.Info()).TokensLeft == before)
	var all bytes.Buffer
	ok(t, s.Save(ggufx.AllSequences, &all))
	ok(t, s.Truncate(0, 0))
	ok(t, s.Load(ggufx.AllSequences, &all))
	check(t, lengths(s) == [3]uint64{30, 40, 0}, lengths(s))
}
