// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// TestArgumentsAreChecked has an argument of each kind that Go takes and C does not, or cannot check.
func TestArgumentsAreChecked(t *testing.T) {
	rt, kv := newRuntime(t), filledKV(t, newRuntime(t), 4)
	f, chain, blocks := demo(t, rt), newChain(t, nil), make([]byte, 34)
	session := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(f, nil)).NewSession(nil))
	generator := must[*ggufx.Generator](t)(session.NewGenerator(nil))
	key := must[int](t)(f.MetaFind("tokenizer.ggml.scores"))
	q, out, w := numbers(128), make([]float32, 128), must[*ggufx.Writer](t)(rt.NewWriter(nil))
	for name, call := range map[string]func() error{
		"a NUL in a path": func() error { _, err := rt.Open("a\x00b", nil); return err },
		"a NUL in an option": func() error {
			_, err := rt.NewQuantizer(f, 2, &ggufx.QuantizerOptions{ImatrixName: "a\x00"})
			return err
		},
		"a negative size":          func() error { _, err := f.MetaAt(-1); return err },
		"a negative count":         func() error { _, err := f.MetaArrayF64(key, 0, -1); return err },
		"a length of its own":      func() error { return appendTo(kv, 0, 0, 2, []int32{4}, numbers(128), numbers(128)) },
		"a length of two arrays":   func() error { return appendBatch(kv, 0, []uint32{0, 1}, []int32{4}, numbers(128), numbers(128)) },
		"lengths of optional ones": func() error { return kv.Calibrate(0, make([]float32, 64), make([]float32, 32), nil) },
		"a product":                func() error { return quantizeTo(rt, blocks, ggufx.TypeQ8_0, q[:32], 2, 32, nil) },
		"a product that overflows": func() error { return quantizeTo(rt, blocks, ggufx.TypeQ8_0, nil, 1<<32, 1<<32, nil) },
		"a length of the options":  func() error { return attendTo(kv, out, make([]float32, 3), 0, 0, q, 1, nil, nil) },
		"a length in the options": func() error {
			return quantizeTo(rt, blocks, ggufx.TypeQ8_0, q[:32], 1, 32, &ggufx.QuantizeArgs{Imatrix: q[:31]})
		},
		"weights of ranks": func() error { return w.CopyShard(f, 0, 3, []uint32{3, 1}, 0) },
		"weights in the options": func() error {
			_, err := rt.Estimate(f, &ggufx.EstimateOptions{Ranks: 3, Weights: []uint32{1}})
			return err
		},
		"no function": func() error { return f.Validate(0, nil, nil) },
		"no reader":   func() error { return kv.Load(0, nil) },
		"no object":   func() error { return rt.Matvec(out, nil, q, nil) },
		"no object in a list": func() error {
			_, err := rt.Estimate(f, &ggufx.EstimateOptions{Adapters: []*ggufx.File{nil}})
			return err
		},
		"no struct":                func() error { return generator.SetPrompt(nil) },
		"no function that is kept": func() error { return chain.AddHost(nil) },
	} {
		var e *ggufx.Error
		err := call()
		check(t, errors.As(err, &e) && errors.Is(err, ggufx.StatusArgument) && e.Message != "", name, err)
	}
	check(t, must[uint64](t)(kv.Length(0)) == 4, "nothing was appended")
}

// TestNilObjects checks that a method of no object is an error, or 0.
func TestNilObjects(t *testing.T) {
	var session *ggufx.Session
	var kv *ggufx.KVCache
	var tensor *ggufx.Tensor
	for _, err := range []error{session.Truncate(0, 0), new(ggufx.Session).Truncate(0, 0), new(ggufx.Tensor).Download(nil), kv.Attend(nil, nil, &ggufx.KVQueries{}, nil), session.Save(0, io.Discard)} {
		fails(t, err, ggufx.StatusArgument)
	}
	check(t, session.Length(0) == 0 && tensor.Data() == nil && session.Close() == nil && tensor.Close() == nil && new(ggufx.Session).Close() == nil)
}

// TestACallThatChangesAnObjectHasItAlone checks that other calls on it fail, and the call goes on.
func TestACallThatChangesAnObjectHasItAlone(t *testing.T) {
	rt := newRuntime(t)
	session := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil)).NewSession(nil))
	seen := 0
	must[[]float32](t)(session.Decode([]ggufx.DecodeItem{lastOf(0, []int32{1, 300})}, nil, &ggufx.DecodeOptions{Attention: func(ggufx.AttentionView) error {
		seen++
		fails(t, session.Truncate(0, 0), ggufx.StatusState)
		_, err := session.Info()
		fails(t, err, ggufx.StatusState)
		check(t, session.Length(0) == 0)
		return nil
	}}))
	check(t, seen > 0 && session.Length(0) == 2)
	var told strings.Builder
	kv := filledKV(t, rt, 2)
	ok(t, kv.Save(0, writerFunc(func(p []byte) (int, error) { // calls beside a const one
		fails(t, kv.Truncate(0, 1), ggufx.StatusState)
		check(t, must[uint64](t)(kv.Length(0)) == 2)
		return told.Write(p)
	})))
	check(t, told.Len() > 0)
	ok(t, kv.Truncate(0, 1))
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestStatusOfAFunction checks which status a call gets from the error of a function of the program.
func TestStatusOfAFunction(t *testing.T) {
	kv := filledKV(t, newRuntime(t), 2)
	_, full := newRuntime(t).Open("/nowhere", nil)
	for want, err := range map[ggufx.Status]error{ggufx.StatusIO: os.ErrPermission, ggufx.StatusTruncated: io.ErrUnexpectedEOF,
		ggufx.StatusChecksum: ggufx.StatusChecksum, ggufx.StatusNotFound: full} {
		got := kv.Save(0, writerFunc(func([]byte) (int, error) { return 0, err }))
		fails(t, got, want)
		check(t, errors.Is(got, err), got)
	}
}

// TestAnObjectKeepsWhatItWasMadeFrom checks that objects that are closed first are freed with it.
func TestAnObjectKeepsWhatItWasMadeFrom(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	model := must[*ggufx.Model](t)(rt.NewModel(f, nil))
	session := must[*ggufx.Session](t)(model.NewSession(nil))
	generator := must[*ggufx.Generator](t)(session.NewGenerator(nil))
	for _, end := range []func() error{rt.Close, f.Close, model.Close, session.Close} {
		ok(t, end())
	}
	ok(t, generator.SetPrompt(&ggufx.Prompt{Tokens: []int32{1, 300}}))
	check(t, must[ggufx.Event](t)(generator.Next(nil)).Kind == ggufx.EventKindText)
	ok(t, generator.Close())
}

// TestKeptFunctionsAreLetGo checks that a sampler and its clones keep a function, and no one else.
func TestKeptFunctionsAreLetGo(t *testing.T) {
	rt := newRuntime(t)
	n := collected(8, func(held *[64]byte) {
		s := must[*ggufx.Sampler](t)(rt.NewSampler(6, 7))
		own := func(list []ggufx.Candidate) error { held[0]++; return nil }
		ok(t, s.AddHost(own))
		last := must[*ggufx.Sampler](t)(rt.NewSampler(6, 7))
		ok(t, last.AddMirostat(nil))
		fails(t, last.AddHost(own), ggufx.StatusState)
		clone := must[*ggufx.Sampler](t)(s.Clone())
		ok(t, s.Close())
		_, _, err := clone.Sample(nil, chainLogits)
		ok(t, err)
		check(t, held[0] == 1, held[0])
		ok(t, clone.Close())
	})
	check(t, n >= 7, n)
}

// TestAGeneratorSharesTheLockOfItsSession checks that a call of one is a call of both, but for Cancel.
func TestAGeneratorSharesTheLockOfItsSession(t *testing.T) {
	rt := newRuntime(t)
	session := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil)).NewSession(nil))
	generator := must[*ggufx.Generator](t)(session.NewGenerator(&ggufx.GeneratorOptions{MaxTokens: 9}))
	ok(t, generator.SetPrompt(&ggufx.Prompt{Text: "Once upon a time"}))
	seen, told := 0, ""
	watch := ggufx.Watch{Progress: func(uint64, uint64) {
		seen++
		fails(t, session.Truncate(0, 0), ggufx.StatusState)
		_, err := generator.Info()
		fails(t, err, ggufx.StatusState)
	}}
	event := must[ggufx.Event](t)(generator.Next(&ggufx.StepOptions{Watch: watch}))
	told += event.Text
	ok(t, session.Close()) // is freed with the generator
	for event.Kind != ggufx.EventKindEnd {
		event = must[ggufx.Event](t)(generator.Next(nil))
		told += event.Text
	}
	check(t, seen > 0 && told != "" && event.Status == ggufx.StatusOk, seen, told, event)
	check(t, event.End == ggufx.EndLength, event)
	ids := must[[]int32](t)(generator.Tokens())
	facts := must[ggufx.GeneratorFacts](t)(generator.Info())
	check(t, facts.Tokens == 9 && uint64(len(ids)) == facts.Prompt+9, ids, facts)
	ok(t, generator.SetPrompt(&ggufx.Prompt{Tokens: ids}))
	watch = ggufx.Watch{Progress: func(uint64, uint64) { ok(t, generator.Cancel()) }} // beside the call
	for event = (ggufx.Event{}); event.Kind != ggufx.EventKindEnd; {
		event = must[ggufx.Event](t)(generator.Next(&ggufx.StepOptions{Watch: watch}))
	}
	check(t, event.End == ggufx.EndCancelled, event)
	ok(t, generator.Close())
	check(t, errors.Is(generator.SetPrompt(&ggufx.Prompt{Text: "a"}), os.ErrClosed))
}
