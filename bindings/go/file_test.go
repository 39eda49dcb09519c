// SPDX-License-Identifier: MIT

package ggufx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLibraryFits(t *testing.T) {
	check(t, strings.HasPrefix(Version(), "0.") && Has("type:q4_K") && !Has("type:none"))
	check(t, StatusTruncated.Error() == "TRUNCATED" && TypeQ4_K.String() == "q4_K")
	check(t, must[TensorType](t)(TensorTypeFromName("IQ4_NL")) == TypeIQ4_NL)
	check(t, must[KVType](t)(KVTypeFromName("tq3_0")) == KVTQ3_0)
	check(t, must[TypeInfo](t)(KVQ8_0.Info()).BlockValues == 32)
	check(t, must[uint64](t)(TypeQ4_K.RowBytes(512)) == 288)
	_, err := TensorTypeFromName("q4_q")
	fails(t, err, StatusNotFound)
	_, err = TensorType(4).Info()
	fails(t, err, StatusType)
}

func TestMetadata(t *testing.T) {
	f := demo(t, newRuntime(t))
	defer f.Close()
	check(t, f.MetaCount() == 33 && f.TensorCount() == 38)
	key := func(name string) *Meta { return must[*Meta](t)(f.Meta(name)) }
	check(t, must[string](t)(key("general.architecture").Text()) == "llama")
	check(t, must[uint64](t)(key("llama.context_length").Uint64()) == 512)
	check(t, must[int64](t)(key("llama.context_length").Int64()) == 512)
	check(t, must[float64](t)(key("llama.rope.freq_base").Float64()) == 10000)
	tokens := key("tokenizer.ggml.tokens")
	check(t, tokens.Type() == MetaArray && tokens.ElementType() == MetaString && tokens.Count() == 1024)
	check(t, must[string](t)(tokens.TextAt(2)) == "</s>" && tokens.Key() == "tokenizer.ggml.tokens")
	scores := make([]float64, 4)
	ok(t, key("tokenizer.ggml.scores").Float64s(1020, scores))
	check(t, scores[0] < 0)
	_, err := f.Meta("no.such.key")
	fails(t, err, StatusNotFound)
	_, err = tokens.Uint64()
	fails(t, err, StatusKvtype)
	_, err = tokens.Nested(0)
	fails(t, err, StatusKvtype)
	_, err = tokens.TextAt(1024)
	fails(t, err, StatusArgument)
	_, err = f.MetaAt(33)
	fails(t, err, StatusArgument)
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
	files := []*File{
		must[*File](t)(rt.Open(modelPath(t), &OpenOptions{IO: IOModeRead})),
		must[*File](t)(rt.OpenFile(archive, 4096, n, nil)),
		must[*File](t)(rt.OpenMemory(data, nil)),
		must[*File](t)(rt.OpenReader(bytes.NewReader(data), int64(n), nil)),
	}
	rt.Close() // files keep what they need
	for _, f := range files {
		check(t, must[FileInfo](t)(f.Info()).Tensors == 38)
		w := must[*Tensor](t)(f.Tensor("token_embd.weight"))
		info := must[TensorInfo](t)(w.Info())
		check(t, info.Type == TypeQ8_0 && info.Ne == [4]uint64{256, 1024, 1, 1}, info)
		at := info.FileOffset
		check(t, bytes.Equal(w.Data(), data[at:at+info.Bytes]))
		part := must[*Tensor](t)(w.Slice(1, 3, 2))
		ok(t, f.Close())
		ok(t, f.Close()) // again
		check(t, bytes.Equal(part.Data(), data[at+3*272:at+5*272]))
		_, err := w.Info() // its file is closed
		fails(t, err, StatusArgument)
		_, err = f.Info()
		fails(t, err, StatusArgument)
		ok(t, part.Close())
	}
}

func TestWhatGoesWrong(t *testing.T) {
	rt, data := newRuntime(t), must[[]byte](t)(os.ReadFile(modelPath(t)))
	_, err := rt.Open("/nowhere/x.gguf", nil)
	e := fails(t, err, StatusNotFound)
	check(t, strings.Contains(e.Message, "/nowhere/x.gguf") && e.SystemError != 0)
	check(t, strings.HasPrefix(e.Error(), "NOT_FOUND: ") && e.Offset == None)
	_, err = rt.OpenMemory([]byte("GGML1234567890123456789012345678"), nil)
	fails(t, err, StatusMagic)
	_, err = rt.OpenMemory(data[:1000], nil)
	e = fails(t, err, StatusTruncated)
	check(t, e.Offset == 1000 && e.Index == 20 && e.SystemError == 0, e.Offset, e.Index)
	mine := errors.New("mine")
	_, err = rt.OpenReader(failing{mine}, 4096, nil)
	fails(t, err, StatusIO)
	check(t, errors.Is(err, mine))
	_, err = rt.OpenReader(failing{io.EOF}, 4096, nil)
	check(t, errors.Is(err, io.EOF) && errors.Is(err, StatusIO))
	func() {
		defer func() { check(t, recover() == "reader") }()
		rt.OpenReader(panicking{}, 4096, nil)
	}()
	f := must[*File](t)(rt.Open(modelPath(t), &OpenOptions{Flags: OpenMetadataOnly}))
	check(t, must[*Tensor](t)(f.Tensor("token_embd.weight")).Data() == nil)
	_, err = f.Tensor("no.such.tensor")
	fails(t, err, StatusNotFound)
	check(t, f.TensorAt(38) == nil)
	rt.Close()
	_, err = rt.Open(modelPath(t), nil)
	fails(t, err, StatusArgument)
}

func TestCancelAnOpen(t *testing.T) {
	rt := newRuntime(t)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := rt.Open(modelPath(t), &OpenOptions{IO: IOModeRead, Watch: Watch{Context: ctx,
		Progress: func(done, total uint64) { calls++; cancel() }}})
	fails(t, err, StatusCancelled)
	check(t, errors.Is(err, context.Canceled) && calls == 1, calls)
	func() {
		defer func() { check(t, recover() == "progress") }()
		rt.Open(modelPath(t), &OpenOptions{IO: IOModeRead,
			Watch: Watch{Progress: func(done, total uint64) { panic("progress") }}})
	}()
	demo(t, rt).Close() // all is well afterwards
}

func TestValidate(t *testing.T) {
	rt, data := newRuntime(t), must[[]byte](t)(os.ReadFile(modelPath(t)))
	info := must[TensorInfo](t)(must[*Tensor](t)(demo(t, rt).Tensor("token_embd.weight")).Info())
	data[info.FileOffset], data[info.FileOffset+1] = 0xff, 0x7f // the first scale becomes NaN
	f := must[*File](t)(rt.OpenMemory(data, nil))
	var names []string
	ok(t, f.Validate(ValidateDeep, func(x *Finding) bool {
		names = append(names, x.Name)
		return x.Text != ""
	}, nil))
	check(t, len(names) > 0 && strings.Contains(strings.Join(names, " "), "token_embd.weight"), names)
	fails(t, f.Validate(ValidateDeep, func(*Finding) bool { return false }, nil), StatusCancelled)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	err := f.Validate(ValidateDeep, func(*Finding) bool { return true }, &Watch{Context: done})
	fails(t, err, StatusCancelled)
}
