// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func story(t testing.TB, rt *ggufx.Runtime, topK uint32, temperature float32) string {
	f := demo(t, rt)
	model, tokenizer := must[*ggufx.Model](t)(rt.NewModel(f, nil)), must[*ggufx.Tokenizer](t)(f.NewTokenizer())
	session := must[*ggufx.Session](t)(model.NewSession(nil))
	info := must[ggufx.ModelFacts](t)(model.Info())
	f.Close()
	model.Close() // the session keeps its dependencies alive
	sampler := must[*ggufx.Sampler](t)(rt.NewSampler(info.Vocab, 7))
	ok(t, sampler.AddTopK(topK))
	ok(t, sampler.AddTemperature(temperature, nil))
	ids := must[[]int32](t)(tokenizer.Tokenize("Once upon a time", ggufx.TokenizeAddSpecial))
	next := ids
	for len(ids) < 40 {
		id, logprob, err := sampler.Sample(nil, decoded(t, session, lastOf(0, next)))
		ok(t, err)
		check(t, logprob <= 0)
		if must[ggufx.TokenFacts](t)(tokenizer.TokenInfo(id)).Flags&ggufx.TokenEog != 0 {
			break
		}
		ids, next = append(ids, id), []int32{id}
	}
	return must[string](t)(tokenizer.Detokenize(ids, 0))
}

func TestTheDemoModelTellsAStory(t *testing.T) {
	rt := newRuntime(t)
	told := story(t, rt, 1, 0)
	check(t, strings.HasPrefix(told, "Once upon a time") && len(told) > 60, told)
	warm := story(t, rt, 40, 1.5)
	check(t, told == story(t, rt, 1, 0) && story(t, rt, 40, 1.5) == warm)
	check(t, told != warm)
}

func TestTokens(t *testing.T) {
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, newRuntime(t)).NewTokenizer())
	check(t, must[ggufx.TokenizerFacts](t)(tokenizer.Info()) == ggufx.TokenizerFacts{Kind: "llama", Tokens: 1024, Bos: 1, Eos: 2,
		Eot: -1, Eom: -1, Separator: -1, Pad: -1, Mask: -1, FimPrefix: -1, FimSuffix: -1, FimMiddle: -1, FimPad: -1,
		FimRepository: -1, FimSeparator: -1, Flags: ggufx.TokenizerAddBos | ggufx.TokenizerAddSpace})
	text := "The little dog, \u00e9\U0001f600!"
	ids := must[[]int32](t)(tokenizer.Tokenize(text, 0))
	check(t, must[string](t)(tokenizer.Detokenize(ids, 0)) == text)
	_, err := tokenizer.TokenInfo(1024)
	fails(t, err, ggufx.StatusArgument)
	_, err = tokenizer.Detokenize([]int32{5000}, 0)
	fails(t, err, ggufx.StatusArgument)
}

func TestIdsOneByOneGiveWholeCharacters(t *testing.T) {
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, newRuntime(t)).NewTokenizer())
	text := "The little dog, \u00e9\U0001f600!"
	ids := must[[]int32](t)(tokenizer.Tokenize(text, 0))
	var state ggufx.DetokenizerState
	push := func(ids ...int32) (string, error) { return tokenizer.DetokenizeStream(&state, ids) }
	finish := func() string {
		state.Flags = ggufx.DetokenizeFlush
		rest := must[string](t)(push())
		state = ggufx.DetokenizerState{}
		return rest
	}
	for round := 0; round < 2; round++ {
		told, empty, half := "", 0, int32(-1)
		for _, id := range ids {
			part := must[string](t)(push(id))
			check(t, utf8.ValidString(part), part)
			if part == "" {
				empty++
			}
			if must[ggufx.TokenFacts](t)(tokenizer.TokenInfo(id)).Text == "<0xC3>" {
				half = id
			}
			told += part
		}
		check(t, told == text && empty >= 4, told, empty)
		check(t, finish() == "")
		check(t, must[string](t)(push(half)) == "")
		_, err := push(5000)
		fails(t, err, ggufx.StatusArgument)
		check(t, finish() == "\xc3")
		check(t, must[string](t)(push(ids...)) == text)
		check(t, finish() == "")
	}
	tokenizer.Close()
	_, err := push(ids[0])
	check(t, errors.Is(err, os.ErrClosed), err)
}

func TestSpecialTokensAndPreTokenizers(t *testing.T) {
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, newRuntime(t)).NewTokenizer())
	info := must[ggufx.TokenizerFacts](t)(tokenizer.Info())
	check(t, info.Eos == 2 && info.FimPrefix == -1, info)
	tokenizer.Close()
	_, err := tokenizer.Info()
	check(t, errors.Is(err, os.ErrClosed), err)
	named := map[string]ggufx.PreTokenizerFacts{}
	for i := 0; i < ggufx.PreTokenizerCount(); i++ {
		pre := must[ggufx.PreTokenizerFacts](t)(ggufx.PreTokenizerAt(i))
		check(t, pre.Name != "" && pre.Rules != "")
		named[pre.Name] = pre
	}
	check(t, len(named) > 70, len(named))
	llama := named["llama-bpe"]
	check(t, llama.Flags&ggufx.PreIgnoreMerges != 0, llama)
	check(t, strings.HasPrefix(llama.Pipeline, "S(?i:") && strings.HasSuffix(llama.Pipeline, "\x00B\x00"), llama)
	check(t, named["gpt-2"].Pipeline == "G\x00", named["gpt-2"])
	check(t, strings.HasPrefix(llama.Unicode, "15."), llama)
}

func TestDecode(t *testing.T) {
	rt := newRuntime(t)
	session := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil)).NewSession(&ggufx.SessionOptions{Context: 16, MatmulFlags: ggufx.MatmulBatchInvariant}))
	ids := []int32{1, 300, 301, 302}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	decode := func(ids []int32, options *ggufx.DecodeOptions) error {
		_, err := session.Decode([]ggufx.DecodeItem{lastOf(0, ids)}, nil, options)
		return err
	}
	err := decode(ids, &ggufx.DecodeOptions{Watch: ggufx.Watch{Context: done}})
	fails(t, err, ggufx.StatusCancelled)
	check(t, errors.Is(err, context.Canceled) && session.Length(0) == 0)
	var layers []uint32
	item := ggufx.DecodeItem{Tokens: ids, Flags: ggufx.DecodeAllLogits}
	look := &ggufx.DecodeOptions{Attention: func(a ggufx.AttentionView) error {
		layers = append(layers, a.Layer)
		check(t, len(a.Q) == 4*256 && len(a.K) == 4*128 && len(a.V) == 4*128 && a.Out[1023] != 0)
		return nil
	}}
	all := must[[]float32](t)(session.Decode([]ggufx.DecodeItem{item}, nil, look))
	check(t, len(layers) == 4)
	ok(t, session.Truncate(0, 0))
	check(t, equal(all[3*1024:], decoded(t, session, lastOf(0, ids))))
	ok(t, session.Truncate(0, 2))
	fails(t, decode(make([]int32, 15), nil), ggufx.StatusCapacity)
	check(t, fails(t, decode([]int32{1, 4000}, nil), ggufx.StatusArgument).Index == 0)
	err = decode(ids, &ggufx.DecodeOptions{Attention: func(ggufx.AttentionView) error { return errMine }})
	fails(t, err, ggufx.StatusCancelled)
	check(t, errors.Is(err, errMine))
	check(t, session.Length(0) == 2)
}

func TestLayersAndOtherKeys(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	model := must[*ggufx.Model](t)(rt.NewModel(f, nil))
	info := must[ggufx.ModelFacts](t)(model.Info())
	for i := uint32(0); i < info.Layers; i++ {
		layer := must[ggufx.LayerFacts](t)(model.LayerInfo(i))
		check(t, layer.Kind == ggufx.LayerKindAttention && layer.KVLayer == i && layer.Flags == 0)
		check(t, layer.Heads == info.Heads && layer.KVHeads == info.KVHeads && layer.Window == 0)
		check(t, layer.HeadDimK == 64 && layer.HeadDimV == 64 && layer.SinkLogits == nil)
	}
	for _, i := range []uint32{info.Layers, 1<<32 - 1} {
		_, err := model.LayerInfo(i)
		fails(t, err, ggufx.StatusArgument)
	}
	check(t, strings.Contains(must[string](t)(f.ModelDescribeGraph()), "token_embd"))
	with := func(key, value string) (*ggufx.Model, error) {
		return rt.NewModel(f, &ggufx.ModelOptions{Overrides: []ggufx.ModelOverride{{Key: key, Value: value}}})
	}
	shorter := must[*ggufx.Model](t)(with("llama.context_length", "77"))
	check(t, must[ggufx.ModelFacts](t)(shorter.Info()).Context == 77)
	for _, wrong := range [][2]string{{"llama.nosuch", "1"}, {"llama.context_length", "many"},
		{"llama.context_length", "7\x00"}} {
		_, err := with(wrong[0], wrong[1])
		fails(t, err, ggufx.StatusArgument)
	}
	stop, cancel := context.WithCancel(context.Background())
	seen := []uint64{}
	watch := ggufx.Watch{Context: stop, Progress: func(done, total uint64) {
		if seen = append(seen, done); done == 3 {
			cancel()
		}
	}}
	_, err := rt.NewModel(f, &ggufx.ModelOptions{Watch: watch})
	fails(t, err, ggufx.StatusCancelled)
	check(t, len(seen) == 3 && errors.Is(err, context.Canceled), seen)
}

func TestTextsBecomeVectors(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	model := must[*ggufx.Model](t)(rt.NewModel(f, nil))
	check(t, must[ggufx.ModelFacts](t)(model.Info()).Flags == 0) // it predicts; any model embeds
	texts := [][]int32{{1, 300, 301}, {5}, {1, 302, 303, 304, 305}}
	embedder := must[*ggufx.Embedder](t)(model.NewEmbedder(nil))
	facts := must[ggufx.EmbedderFacts](t)(embedder.Info())
	check(t, facts.Pooling == ggufx.PoolingLast && facts.Dimensions == 256)
	every := must[[]float32](t)(embedder.EmbedTexts(texts, nil))
	for i := range texts {
		row := must[[]float32](t)(embedder.EmbedTexts(texts[i:i+1], nil))
		check(t, near(every[i*256:(i+1)*256], row, 1e-30))
	}
	none := must[*ggufx.Embedder](t)(model.NewEmbedder(&ggufx.EmbedOptions{Context: 4, Pooling: ggufx.PoolingNone, Flags: ggufx.EmbedTruncate}))
	rows := must[[]float32](t)(none.EmbedTexts(texts, nil))
	check(t, len(rows) == (3+1+4)*256 && near(rows[2*256:3*256], every[:256], 1e-30))
	unit := must[*ggufx.Embedder](t)(model.NewEmbedder(&ggufx.EmbedOptions{Dimensions: 16, Flags: ggufx.EmbedNormalize}))
	sum := float32(0)
	for _, x := range must[[]float32](t)(unit.EmbedTexts(texts[:1], nil)) {
		sum += x * x
	}
	check(t, sum > 0.99999 && sum < 1.00001, sum)
	whole := must[uint64](t)(rt.EmbedderEstimate(f, nil))
	check(t, whole > must[uint64](t)(rt.EmbedderEstimate(f, &ggufx.EmbedOptions{Context: 8, Batch: 8})))
	_, err := embedder.EmbedTexts([][]int32{{1}, {}}, nil)
	check(t, fails(t, err, ggufx.StatusArgument).Index == 1)
	_, err = embedder.EmbedTexts(nil, nil)
	fails(t, err, ggufx.StatusArgument)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = embedder.EmbedTexts(texts, &ggufx.Watch{Context: done})
	fails(t, err, ggufx.StatusCancelled)
	_, err = model.NewEmbedder(&ggufx.EmbedOptions{Pooling: ggufx.PoolingRank})
	fails(t, err, ggufx.StatusUnsupported)
	embedder.Close()
	_, err = embedder.EmbedTexts(texts, nil)
	check(t, errors.Is(err, os.ErrClosed))
}

func TestPerplexity(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	session := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(f, nil)).NewSession(nil))
	text := strings.Repeat("Once upon a time there was a little dog. The dog was happy. ", 6)
	ids := must[[]int32](t)(must[*ggufx.Tokenizer](t)(f.NewTokenizer()).Tokenize(text, 0))
	n := uint64(0)
	count := func(ggufx.EvalFacts) error { n++; return nil }
	p := must[ggufx.EvalFacts](t)(session.EvalPerplexity(ids, 32, 1, &ggufx.EvalOptions{Report: count}))
	check(t, p.Perplexity > 1 && p.Chunks == n && n > 0, p)
	stop := func(ggufx.EvalFacts) error { return errMine }
	_, err := session.EvalPerplexity(ids, 32, -1, &ggufx.EvalOptions{Report: stop})
	fails(t, err, ggufx.StatusCancelled)
	fails(t, must[*ggufx.Sampler](t)(rt.NewSampler(8, 0)).AddTopP(-1), ggufx.StatusArgument)
}

// counting has a byte's offset at each byte.
type counting struct{}

func (counting) ReadAt(p []byte, offset int64) (int, error) {
	for i := range p {
		p[i] = byte(offset) + byte(i)
	}
	return len(p), nil
}

func TestWriting(t *testing.T) {
	rt := newRuntime(t)
	w := must[*ggufx.Writer](t)(rt.NewWriter(nil))
	ok(t, w.SetString("general.architecture", "test"))
	ok(t, w.SetU64("a.u8", ggufx.ValueU8, 200))
	ok(t, w.SetI64("a.i32", ggufx.ValueI32, -7))
	ok(t, w.SetF64("a.f32", ggufx.ValueF32, 0.5))
	ok(t, w.SetBool("a.bool", true))
	ok(t, ggufx.SetArray(w, "a.array", []int16{1, -2, 3}))
	ok(t, w.SetArrayString("a.texts", []string{"one", "", "two\x00"}))
	var nested bytes.Buffer // two arrays of one u32
	for _, v := range []any{uint32(ggufx.ValueArray), uint64(2), uint32(ggufx.ValueU32), uint64(1), uint32(8),
		uint32(ggufx.ValueU32), uint64(1), uint32(9)} {
		ok(t, binary.Write(&nested, binary.LittleEndian, v))
	}
	ok(t, w.SetValue("a.nested", ggufx.ValueArray, nested.Bytes()))
	data := make([]byte, 256)
	data[255] = 7
	tensor := must[*ggufx.Tensor](t)(rt.WrapTensor(ggufx.TypeF32, []uint64{32, 2}, 0, data, "t0"))
	ok(t, w.AddTensor(tensor, ""))
	ok(t, w.AddTensor(tensor, "t1"))
	ok(t, tensor.Close()) // the writer keeps its data
	ok(t, w.AddStream("t2", ggufx.TypeI8, []uint64{64}, counting{}))
	fails(t, w.AddStream("t3", ggufx.TypeQ8_0, []uint64{31}, counting{}), ggufx.StatusShape)
	fails(t, w.AddStream("t3", ggufx.TypeF32, []uint64{31}, nil), ggufx.StatusArgument)
	path := filepath.Join(t.TempDir(), "small.gguf")
	ok(t, w.Write(path, nil))
	stat := must[os.FileInfo](t)(os.Stat(path))
	check(t, must[ggufx.WriterFacts](t)(w.Info(nil)).Bytes == uint64(stat.Size()))
	f := must[*ggufx.File](t)(rt.Open(path, nil))
	key := func(name string) int { return must[int](t)(f.MetaFind(name)) }
	check(t, must[uint64](t)(f.MetaU64(key("a.u8"))) == 200 && must[bool](t)(f.MetaBool(key("a.bool"))))
	array := must[[]int64](t)(f.MetaArrayI64(key("a.array"), 0, 3))
	check(t, array[1] == -2 && must[[]uint64](t)(f.MetaArrayU64(key("a.array"), 2, 1))[0] == 3)
	check(t, must[string](t)(f.MetaArrayString(key("a.texts"), 2)) == "two\x00")
	check(t, must[uint64](t)(f.MetaU64(must[int](t)(f.MetaArrayNested(key("a.nested"), 1)))) == 9)
	check(t, must[*ggufx.Tensor](t)(f.Tensor("t1")).Data()[255] == 7)
	check(t, must[*ggufx.Tensor](t)(f.Tensor("t2")).Data()[63] == 63)
	ok(t, w.Rename("a.u8", "b.u8"))
	ok(t, w.Unset("a.bool"))
	fails(t, w.Unset("a.bool"), ggufx.StatusNotFound)
	fails(t, w.SetU64("a.u8", ggufx.ValueU8, 256), ggufx.StatusValue)
	fails(t, w.SetU64("", ggufx.ValueU8, 1), ggufx.StatusKey)
	copied := must[*ggufx.Writer](t)(rt.NewWriter(nil))
	ok(t, copied.CopyMeta(f))
	ok(t, copied.CopyTensors(f))
	var again bytes.Buffer
	ok(t, copied.WriteStream(func(part uint32, p []byte) error { again.Write(p); return nil }, nil))
	check(t, must[*ggufx.File](t)(rt.OpenMemory(again.Bytes(), nil)).TensorCount() == 3)
	mine := errors.New("mine")
	err := copied.WriteStream(func(uint32, []byte) error { return mine }, nil)
	fails(t, err, ggufx.StatusIO)
	check(t, errors.Is(err, mine))
	done, cancel := context.WithCancel(context.Background())
	cancel()
	err = copied.Write(path+"2", &ggufx.WriteOptions{Watch: ggufx.Watch{Context: done}})
	fails(t, err, ggufx.StatusCancelled)
}

func TestAThousandOpensLeaveNothingBehind(t *testing.T) {
	rt := newRuntime(t)
	usage := func() (maps, files int) {
		text, _ := os.ReadFile("/proc/self/maps")
		entries, _ := os.ReadDir("/proc/self/fd")
		return strings.Count(string(text), ".gguf\n"), len(entries)
	}
	open := func(n int, closed bool) {
		for i := 0; i < n; i++ {
			f := demo(t, rt)
			must[*ggufx.Tensor](t)(must[*ggufx.Tensor](t)(f.Tensor("output_norm.weight")).Slice(0, 0, 8))
			if closed {
				f.Close()
			}
		}
		runtime.GC() // finalizers do the rest
		runtime.GC()
	}
	open(50, true)
	maps, files := usage()
	open(1000, true)
	open(200, false)
	for i := 0; i < 100; i++ {
		runtime.GC()
		if p, n := usage(); p < maps+20 && n < files+20 {
			return
		}
	}
	p, n := usage()
	t.Fatal(maps, "mappings and", files, "files before,", p, n, "after")
}

func ExampleRuntime_Open() {
	rt, err := ggufx.NewRuntime(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	_, err = rt.Open("no-such-file.gguf", nil)
	fmt.Println(errors.Is(err, ggufx.StatusNotFound))
	// Output: true
}
