// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func TestLibraryFits(t *testing.T) {
	check(t, strings.HasPrefix(ggufx.Version(), "0.") && ggufx.Has("type:q4_K") && !ggufx.Has("type:none"))
	check(t, ggufx.StatusTruncated.Error() == "TRUNCATED" && ggufx.TypeQ4_K.String() == "q4_K")
	check(t, must[ggufx.TensorType](t)(ggufx.TypeFind("IQ4_NL")) == ggufx.TypeIQ4_NL)
	check(t, must[ggufx.TensorType](t)(ggufx.TypeFind("tq3_0")) == ggufx.TypeTQ3_0)
	check(t, must[ggufx.TypeFacts](t)(ggufx.TypeInfo(ggufx.TypeQ8_0)).BlockValues == 32)
	check(t, must[uint64](t)(ggufx.TypeRowBytes(ggufx.TypeQ4_K, 512)) == 288)
	_, err := ggufx.TypeFind("q4_q")
	fails(t, err, ggufx.StatusNotFound)
	_, err = ggufx.TypeInfo(4)
	fails(t, err, ggufx.StatusType)
}

func TestMetadata(t *testing.T) {
	f := demo(t, newRuntime(t))
	defer f.Close()
	check(t, f.MetaCount() == 33 && f.TensorCount() == 38)
	key := func(name string) int { return must[int](t)(f.MetaFind(name)) }
	check(t, must[string](t)(f.MetaString(key("general.architecture"))) == "llama")
	check(t, must[uint64](t)(f.MetaU64(key("llama.context_length"))) == 512)
	check(t, must[int64](t)(f.MetaI64(key("llama.context_length"))) == 512)
	check(t, must[float64](t)(f.MetaF64(key("llama.rope.freq_base"))) == 10000)
	tokens := key("tokenizer.ggml.tokens")
	info := must[ggufx.MetaFacts](t)(f.MetaAt(tokens))
	check(t, info.Type == ggufx.ValueArray && info.ElementType == ggufx.ValueString && info.Count == 1024)
	check(t, must[string](t)(f.MetaArrayString(tokens, 2)) == "</s>" && info.Key == "tokenizer.ggml.tokens")
	scores := must[[]float64](t)(f.MetaArrayF64(key("tokenizer.ggml.scores"), 1020, 4))
	check(t, len(scores) == 4 && scores[0] < 0)
	_, err := f.MetaFind("no.such.key")
	fails(t, err, ggufx.StatusNotFound)
	_, err = f.MetaU64(tokens)
	fails(t, err, ggufx.StatusValueType)
	_, err = f.MetaArrayNested(tokens, 0)
	fails(t, err, ggufx.StatusValueType)
	_, err = f.MetaArrayString(tokens, 1024)
	fails(t, err, ggufx.StatusArgument)
	_, err = f.MetaAt(33)
	fails(t, err, ggufx.StatusArgument)
}

type failing struct{ err error }

func (r failing) ReadAt([]byte, int64) (int, error) { return 0, r.err }

type panicking struct{}

func (panicking) ReadAt([]byte, int64) (int, error) { panic("reader") }

func TestEverySourceGivesTheSame(t *testing.T) {
	rt, data := newRuntime(t), must[[]byte](t)(os.ReadFile(modelPath(t)))
	path := filepath.Join(t.TempDir(), "archive")
	ok(t, os.WriteFile(path, append(append(make([]byte, 4096), data...), "tail"...), 0o600))
	archive := must[*os.File](t)(os.Open(path))
	defer archive.Close()
	n := uint64(len(data))
	files := []*ggufx.File{
		must[*ggufx.File](t)(rt.Open(modelPath(t), &ggufx.OpenOptions{IO: ggufx.IOModeRead})),
		must[*ggufx.File](t)(rt.OpenFile(archive, 4096, n, nil)),
		must[*ggufx.File](t)(rt.OpenMemory(data, nil)),
		must[*ggufx.File](t)(rt.OpenReader(bytes.NewReader(data), int64(n), nil)),
	}
	rt.Close() // files keep their dependencies alive
	for _, f := range files {
		check(t, must[ggufx.FileFacts](t)(f.Info()).Tensors == 38)
		w := must[*ggufx.Tensor](t)(f.Tensor("token_embd.weight"))
		info := must[ggufx.TensorFacts](t)(w.Info())
		check(t, info.Type == ggufx.TypeQ8_0 && info.Ne == [4]uint64{256, 1024, 1, 1}, info)
		at := info.FileOffset
		check(t, bytes.Equal(w.Data(), data[at:at+info.Bytes]))
		part := must[*ggufx.Tensor](t)(w.Slice(1, 3, 2))
		ok(t, f.Close())
		ok(t, f.Close()) // again
		check(t, bytes.Equal(part.Data(), data[at+3*272:at+5*272]))
		_, err := w.Info() // its file is closed
		fails(t, err, ggufx.StatusArgument)
		_, err = f.Info()
		fails(t, err, ggufx.StatusArgument)
		ok(t, part.Close())
	}
}

func TestWhatGoesWrong(t *testing.T) {
	rt, data := newRuntime(t), must[[]byte](t)(os.ReadFile(modelPath(t)))
	_, err := rt.Open("/nowhere/x.gguf", nil)
	e := fails(t, err, ggufx.StatusNotFound)
	check(t, strings.Contains(e.Message, "/nowhere/x.gguf") && e.SystemError != 0)
	check(t, strings.HasPrefix(e.Error(), "NOT_FOUND: ") && e.Offset == ggufx.None)
	_, err = rt.OpenMemory([]byte("GGML1234567890123456789012345678"), nil)
	fails(t, err, ggufx.StatusMagic)
	_, err = rt.OpenMemory(data[:1000], nil)
	e = fails(t, err, ggufx.StatusTruncated)
	check(t, e.Offset == 1000 && e.Index == 20 && e.SystemError == 0, e.Offset, e.Index)
	mine := errors.New("mine")
	_, err = rt.OpenReader(failing{mine}, 4096, nil)
	fails(t, err, ggufx.StatusIO)
	check(t, errors.Is(err, mine))
	_, err = rt.OpenReader(failing{io.EOF}, 4096, nil)
	check(t, errors.Is(err, io.EOF) && errors.Is(err, ggufx.StatusIO))
	func() {
		defer func() { check(t, recover() == "reader") }()
		rt.OpenReader(panicking{}, 4096, nil)
	}()
	f := must[*ggufx.File](t)(rt.Open(modelPath(t), &ggufx.OpenOptions{Flags: ggufx.OpenMetadataOnly}))
	check(t, must[*ggufx.Tensor](t)(f.Tensor("token_embd.weight")).Data() == nil)
	_, err = f.Tensor("no.such.tensor")
	fails(t, err, ggufx.StatusNotFound)
	check(t, f.TensorAt(38) == nil)
	rt.Close()
	_, err = rt.Open(modelPath(t), nil)
	fails(t, err, ggufx.StatusArgument)
}

func TestCancelAnOpen(t *testing.T) {
	rt := newRuntime(t)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := rt.Open(modelPath(t), &ggufx.OpenOptions{IO: ggufx.IOModeRead, Watch: ggufx.Watch{Context: ctx,
		Progress: func(done, total uint64) { calls++; cancel() }}})
	fails(t, err, ggufx.StatusCancelled)
	check(t, errors.Is(err, context.Canceled) && calls == 1, calls)
	func() {
		defer func() { check(t, recover() == "progress") }()
		rt.Open(modelPath(t), &ggufx.OpenOptions{IO: ggufx.IOModeRead,
			Watch: ggufx.Watch{Progress: func(done, total uint64) { panic("progress") }}})
	}()
	demo(t, rt).Close() // all is well afterwards
}

func TestValidate(t *testing.T) {
	rt, data := newRuntime(t), must[[]byte](t)(os.ReadFile(modelPath(t)))
	info := must[ggufx.TensorFacts](t)(must[*ggufx.Tensor](t)(demo(t, rt).Tensor("token_embd.weight")).Info())
	data[info.FileOffset], data[info.FileOffset+1] = 0xff, 0x7f // the first scale becomes NaN
	f := must[*ggufx.File](t)(rt.OpenMemory(data, nil))
	var names []string
	ok(t, f.Validate(ggufx.ValidateDeep, func(x ggufx.FindingFacts) error {
		names = append(names, x.Name)
		check(t, x.Text != "")
		return nil
	}, nil))
	check(t, len(names) > 0 && strings.Contains(strings.Join(names, " "), "token_embd.weight"), names)
	fails(t, f.Validate(ggufx.ValidateDeep, func(ggufx.FindingFacts) error { return errMine }, nil), ggufx.StatusCancelled)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	err := f.Validate(ggufx.ValidateDeep, func(ggufx.FindingFacts) error { return nil }, &ggufx.Watch{Context: done})
	fails(t, err, ggufx.StatusCancelled)
}
