// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"unsafe"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// counted makes one call on an object. It returns nil for a correct result, else the call's error
// or an error for a wrong result.
type counted struct {
	name string
	call func() error
}

var errWrong = errors.New("another result")

func right(good bool, err error) error {
	if err == nil && !good {
		return errWrong
	}
	return err
}

// closing is one object of each type and the calls on them.
type closing struct {
	calls []counted
	close []func() error
}

// alone serializes calls on an object that is not safe for concurrent use, except Close.
func alone(one *sync.Mutex, call func() error) func() error {
	return func() error {
		one.Lock()
		defer one.Unlock()
		return call()
	}
}

func everyObject(t *testing.T, path string, imatrix []byte) *closing {
	rt := must[*ggufx.Runtime](t)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Threads: 1}))
	f := must[*ggufx.File](t)(rt.Open(path, nil))
	other := must[*ggufx.File](t)(rt.Open(path, nil)) // which a close of the first does not reach
	w := must[*ggufx.Tensor](t)(f.Tensor("output_norm.weight"))
	part := must[*ggufx.Tensor](t)(w.Slice(0, 0, 8))
	key := must[int](t)(f.MetaFind("general.architecture"))
	model := must[*ggufx.Model](t)(rt.NewModel(other, nil))
	tokenizer := must[*ggufx.Tokenizer](t)(other.NewTokenizer())
	session := must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 32, Batch: 1, Sequences: 2}))
	embedder := must[*ggufx.Embedder](t)(model.NewEmbedder(&ggufx.EmbedOptions{Context: 4, Batch: 4, Dimensions: 8}))
	adapter := must[*ggufx.Adapter](t)(model.NewAdapter(controlVector(t, rt), nil))
	sampler := must[*ggufx.Sampler](t)(rt.NewSampler(8, 0))
	ok(t, sampler.AddTopK(1))
	drafted := must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 32}))
	generator := must[*ggufx.Generator](t)(drafted.NewGenerator(&ggufx.GeneratorOptions{
		Flags: ggufx.GeneratorIDsOnly | ggufx.GeneratorIgnoreEog, Draft: &ggufx.DraftOptions{}}))
	grammar := must[*ggufx.Grammar](t)(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Text: `root ::= "a"*`}))
	matcher := newMatcher(t, grammar)
	kv := filledKV(t, rt, 2)
	m := must[*ggufx.Imatrix](t)(rt.OpenImatrixMemory(imatrix))
	writer := must[*ggufx.Writer](t)(rt.NewWriter(nil))
	job := must[*ggufx.Quantizer](t)(rt.NewQuantizer(other, must[uint32](t)(ggufx.FileTypeFind("q4_0")),
		&ggufx.QuantizerOptions{Flags: ggufx.QuantizerAllowRequantize}))
	first := must[ggufx.QuantizerTensorFacts](t)(job.TensorAt(0))
	logits, floats := []float32{0, 1, 2, 9, 4, 5, 6, 7}, numbers(32)
	c := &closing{close: []func() error{rt.Close, f.Close, part.Close, model.Close, tokenizer.Close,
		session.Close, embedder.Close, sampler.Close,
		drafted.Close, generator.Close, grammar.Close, matcher.Close,
		kv.Close, m.Close, writer.Close, job.Close, adapter.Close}}
	var one sync.Mutex
	c.calls = []counted{
		{"Runtime.Info", func() error {
			info, err := rt.Info()
			return right(info.Threads == 1 && info.ISAName != "", err)
		}},
		{"Runtime.QuantizeBlocks", func() error {
			blocks := make([]byte, 34)
			return quantizeTo(rt, blocks, ggufx.TypeQ8_0, floats, 1, 32, nil)
		}},
		{"File.Info", func() error {
			info, err := f.Info()
			return right(info.Tensors == 38, err)
		}},
		{"File.Tensor", func() error {
			tensor, err := f.Tensor("token_embd.weight")
			return right(tensor != nil, err)
		}},
		{"File.MetaString", func() error {
			text, err := f.MetaString(key)
			return right(text == "llama", err)
		}},
		{"Tensor.Info", func() error {
			info, err := w.Info()
			return right(info.Name == "output_norm.weight", err)
		}},
		{"Slice.Info", func() error {
			info, err := part.Info()
			return right(info.Ne[0] == 8, err)
		}},
		{"Model.Info", func() error {
			info, err := model.Info()
			return right(info.Architecture == "llama", err)
		}},
		{"Tokenizer.Token", func() error {
			token, err := tokenizer.TokenInfo(2)
			return right(token.Text == "</s>", err)
		}},
		{"Tokenizer.Encode", func() error {
			ids, err := tokenizer.Tokenize("Once upon a time", 0)
			return right(len(ids) > 3, err)
		}},
		{"Session.Decode", alone(&one, func() error {
			err := session.Truncate(1, 0)
			if err != nil {
				return err
			}
			row, err := session.Decode([]ggufx.DecodeItem{lastOf(1, []int32{1})}, nil, nil)
			return right(len(row) == 1024, err)
		})},
		{"Session.Memory", alone(&one, func() error {
			memory, err := session.Info()
			return right(memory.CacheBytes > 0, err)
		})},
		{"Session.Save", alone(&one, func() error { return session.Save(1, io.Discard) })},
		{"Embedder.Embed", alone(new(sync.Mutex), func() error {
			row, err := embedder.EmbedTexts([][]int32{{1}}, nil)
			return right(len(row) == 8, err)
		})},
		{"Adapter.Info", func() error {
			info, err := adapter.Info()
			return right(info.Kind == ggufx.AdapterKindControl && info.Targets == 2, err)
		}},
		{"Sampler.Sample", alone(new(sync.Mutex), func() error {
			id, _, err := sampler.Sample(nil, logits)
			return right(id == 3, err)
		})},
		{"Generator.Next", alone(new(sync.Mutex), func() error {
			if err := generator.SetPrompt(&ggufx.Prompt{Tokens: []int32{1}}); err != nil {
				return err
			}
			event, err := generator.Next(nil)
			return right(len(event.Tokens) > 0, err)
		})},
		{"Grammar.NewMatcher", func() error {
			m, err := grammar.NewMatcher()
			m.Close()
			return err
		}},
		{"Matcher.Mask", alone(new(sync.Mutex), func() error { return matcher.Mask(make([]uint32, 32)) })},
		{"KV.Stats", func() error {
			stats, err := kv.Info(0)
			return right(stats.Tokens == 2, err)
		}},
		{"KV.Attend", func() error {
			return attendTo(kv, make([]float32, 128), nil, 0, 0, make([]float32, 128), 1, nil, nil)
		}},
		{"Imatrix.Find", func() error {
			entry, err := m.Find("a.weight")
			return right(entry == 0, err)
		}},
		{"Imatrix.Dataset", func() error {
			text, err := m.DatasetAt(0)
			return right(text == "text", err)
		}},
		{"Writer.SetBool", alone(new(sync.Mutex), func() error { return writer.SetBool("a.key", true) })},
		{"Quantizer.At", func() error {
			t, err := job.TensorAt(0)
			return right(t.Name == first.Name, err)
		}},
	}
	return c
}

// wear calls everything again and again until each call has said that its object is closed.
func (c *closing) wear(first int) error {
	for left := len(c.calls); left > 0; {
		left = 0
		for i := range c.calls {
			a := c.calls[(first+i)%len(c.calls)]
			if err := a.call(); err == nil {
				left++
			} else if !errors.Is(err, os.ErrClosed) || !errors.Is(err, ggufx.StatusArgument) {
				return errors.New(a.name + ": " + err.Error())
			}
		}
	}
	return nil
}

// TestCloseWhileThreadsCall closes one object of each type while eight goroutines call it: every
// call gives its result or says that the object is closed. GGUFX_CLOSE_ROUNDS: 10000 in full.
func TestCloseWhileThreadsCall(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("GGUFX_CLOSE_ROUNDS"))
	if err != nil {
		rounds = 200
	}
	path, imatrix := modelPath(t), oldImatrix(t)
	for round := 0; round < rounds; round++ {
		c, said := everyObject(t, path, imatrix), make(chan error, 8)
		for i := 0; i < 8; i++ {
			go func(i int) { said <- c.wear(i * 3) }(i)
		}
		for i := range c.close {
			for j := 0; j < (round+i)%5; j++ {
				runtime.Gosched()
			}
			ok(t, c.close[(round*7+i)%len(c.close)]())
		}
		for i := 0; i < 8; i++ {
			ok(t, <-said)
		}
	}
	t.Log(rounds, "rounds")
}

// TestCloseInACall closes an object in a function that its own call runs: the call ends well.
func TestCloseInACall(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	n := 0
	ok(t, f.Validate(ggufx.ValidateDeep, func(ggufx.FindingFacts) error { return nil }, &ggufx.Watch{Progress: func(uint64, uint64) {
		ok(t, f.Close())
		n++
	}}))
	check(t, n > 0)
	_, err := f.Info()
	check(t, errors.Is(err, os.ErrClosed) && f.TensorCount() == 0 && f.TensorAt(0) == nil, err)
	session := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil)).NewSession(nil))
	items := []ggufx.DecodeItem{lastOf(0, []int32{1, 2})}
	look := &ggufx.DecodeOptions{Attention: func(ggufx.AttentionView) error { return session.Close() }}
	must[[]float32](t)(session.Decode(items, nil, look))
	_, err = session.Decode(items, nil, nil)
	check(t, session.Length(0) == 0 && errors.Is(err, os.ErrClosed))
}

// TestPanicsLetGo checks that a call which a panic ended is counted out, so that Close destroys.
func TestPanicsLetGo(t *testing.T) {
	rt, gone := newRuntime(t), 0
	released := func() { gone++ }
	data := must[*ggufx.Tensor](t)(demo(t, rt).Tensor("output_norm.weight")).Data() // C's memory
	memory := unsafe.Pointer(&data[0])
	w := must[*ggufx.Tensor](t)(rt.WrapMemory(ggufx.TypeF32, []uint64{32, 1}, 0, memory, 128, "w", released))
	func() {
		defer func() { _ = recover() }()
		_ = rt.Matvec(make([]float32, 1), w, numbers(32), &ggufx.MatmulOptions{Watch: ggufx.Watch{
			Progress: func(uint64, uint64) { panic("mine") }}})
	}()
	check(t, gone == 0)
	ok(t, w.Close())
	check(t, gone == 1, gone)
}
