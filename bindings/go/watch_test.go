// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// followed are all calls that take a Watch.
func followed(t testing.TB, rt *ggufx.Runtime) map[string]func(w ggufx.Watch) error {
	f, data := demo(t, rt), must[[]byte](t)(os.ReadFile(modelPath(t)))
	q := must[*ggufx.Tensor](t)(f.Tensor("blk.0.attn_q.weight"))
	x, y, blocks := numbers(512), make([]float32, 512), make([]byte, 2*272)
	experts := must[*ggufx.Tensor](t)(rt.WrapTensor(ggufx.TypeQ8_0, []uint64{256, 1, 2}, 0, blocks, "experts"))
	kv, holes := filledKV(t, rt, 130), filledKV(t, rt, 130)
	ok(t, holes.Remove(0, 10, 50))
	ok(t, holes.Remove(0, 20, 50))
	model := must[*ggufx.Model](t)(rt.NewModel(f, nil))
	session := must[*ggufx.Session](t)(model.NewSession(nil))
	archive := must[*os.File](t)(os.Open(modelPath(t)))
	m := must[*ggufx.Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))
	folder := t.(interface{ TempDir() string }).TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	ok(t, m.Write(path("imatrix"), ggufx.ImatrixFormatGguf, nil))
	w := copyOf(t, rt, f, &ggufx.WriterOptions{ReserveBytes: 4096})
	ok(t, w.Write(path("file"), nil))
	edited := must[*ggufx.File](t)(rt.Open(path("file"), nil))
	edit := copyOf(t, rt, edited, nil)
	ok(t, edit.SetString("general.name", "edited"))
	job := plan(t)
	ok(t, plan(t).Run(path("shards"), &ggufx.QuantizerRunOptions{Shard: 1, Shards: 1}))
	read := func(w ggufx.Watch) *ggufx.OpenOptions { return &ggufx.OpenOptions{IO: ggufx.IOModeRead, Watch: w} }
	opened := func(_ *ggufx.File, err error) error { return err }
	return map[string]func(w ggufx.Watch) error{
		"MatVec": func(w ggufx.Watch) error { return rt.Matvec(y[:256], q, x[:256], &ggufx.MatmulOptions{Watch: w}) },
		"MatMul": func(w ggufx.Watch) error { return rt.Matmul(y, 0, q, x, 0, 2, &ggufx.MatmulOptions{Watch: w}) },
		"MatVecMany": func(w ggufx.Watch) error {
			return rt.MatvecMany(y, []int{256, 256}, []*ggufx.Tensor{q, q}, x[:256], &ggufx.MatmulOptions{Watch: w})
		},
		"MatMulID": func(w ggufx.Watch) error {
			return rt.MatmulID(y[:2], 0, experts, []uint32{0, 1}, 2, x[:256], 0, 1, &ggufx.MatmulOptions{Watch: w})
		},
		"QuantizeBlocks": func(w ggufx.Watch) error {
			return quantizeTo(rt, blocks, ggufx.TypeQ8_0, x, 2, 256, &ggufx.QuantizeArgs{Watch: w})
		},
		"Attend": func(w ggufx.Watch) error {
			return attendTo(kv, y[:128], nil, 0, 0, x[:128], 1, nil, &ggufx.AttendOptions{Watch: w})
		},
		"AttendBatch": func(w ggufx.Watch) error {
			return attendBatch(kv, y[:128], nil, 0, []uint32{0}, x[:128], nil, &ggufx.AttendOptions{Watch: w})
		},
		"Requantize": func(w ggufx.Watch) error { return kv.Requantize(ggufx.KVAllLayers, ggufx.TypeQ8_0, ggufx.TypeQ8_0, &w) },
		"Compact":    func(w ggufx.Watch) error { return holes.Compact(0, &w) },
		"Decode": func(w ggufx.Watch) error {
			_, err := session.Decode([]ggufx.DecodeItem{lastOf(0, []int32{1})}, nil, &ggufx.DecodeOptions{Watch: w})
			return err
		},
		"Validate": func(w ggufx.Watch) error {
			return f.Validate(ggufx.ValidateDeep, func(ggufx.FindingFacts) error { return nil }, &w)
		},
		"Open":       func(w ggufx.Watch) error { return opened(rt.Open(modelPath(t), read(w))) },
		"OpenFile":   func(w ggufx.Watch) error { return opened(rt.OpenFile(archive, 0, 0, read(w))) },
		"OpenMemory": func(w ggufx.Watch) error { return opened(rt.OpenMemory(data, &ggufx.OpenOptions{Watch: w})) },
		"OpenReader": func(w ggufx.Watch) error {
			return opened(rt.OpenReader(bytes.NewReader(data), int64(len(data)), &ggufx.OpenOptions{Watch: w}))
		},
		"OpenImatrix": func(w ggufx.Watch) error {
			_, err := rt.OpenImatrix(path("imatrix"), &w)
			return err
		},
		"Imatrix.Write": func(w ggufx.Watch) error { return m.Write(path("again"), ggufx.ImatrixFormatGguf, &w) },
		"Write":         func(watch ggufx.Watch) error { return w.Write(path("out"), &ggufx.WriteOptions{Watch: watch}) },
		"WriteStream": func(watch ggufx.Watch) error {
			return w.WriteStream(func(uint32, []byte) error { return nil }, &ggufx.WriteOptions{Watch: watch})
		},
		"Edit": func(w ggufx.Watch) error {
			_, err := edit.Edit(edited, path("file"), &ggufx.EditOptions{Flags: ggufx.EditInPlace, Watch: w})
			return err
		},
		"Measure": func(w ggufx.Watch) error {
			_, err := job.TensorError(chosen(t, job)[0], ggufx.TypeQ4_0, 0, &w)
			return err
		},
		"Run":    func(w ggufx.Watch) error { return job.Run(path("job"), &ggufx.QuantizerRunOptions{Watch: w}) },
		"Finish": func(w ggufx.Watch) error { return plan(t).Finish(path("shards"), &w) },
	}
}

func TestEveryLongCallIsFollowed(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for name, call := range followed(t, newRuntime(t)) {
		err := call(ggufx.Watch{Context: done})
		check(t, errors.Is(err, ggufx.StatusCancelled) && errors.Is(err, context.Canceled), name, err)
		n, last, of := 0, uint64(0), uint64(0)
		err = call(ggufx.Watch{Context: context.Background(), Progress: func(done, total uint64) {
			check(t, done >= last || total != of, name, done, last) // or another stage
			check(t, total == 0 || done <= total, name, done, total)
			n, last, of = n+1, done, total
		}})
		check(t, err == nil && n > 0, name, err, n)
	}
}

// collected runs a function n times, each with a new object that its callbacks reference. It counts
// the objects that the garbage collector frees.
func collected(n int, use func(held *[64]byte)) int {
	var gone int32
	for i := 0; i < n; i++ {
		held := new([64]byte)
		runtime.SetFinalizer(held, func(*[64]byte) { atomic.AddInt32(&gone, 1) })
		use(held)
	}
	for i := 0; i < 200 && int(atomic.LoadInt32(&gone)) < n; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return int(gone)
}

type heldJobs struct {
	halves
	held *[64]byte
}

type heldMemory struct{ held *[64]byte }

func (h heldMemory) Alloc(size, align uintptr) unsafe.Pointer { return nil }
func (h heldMemory) Free(unsafe.Pointer, uintptr, uintptr)    {}

func TestFunctionsAreLetGo(t *testing.T) {
	rt, data := newRuntime(t), must[[]byte](t)(os.ReadFile(modelPath(t)))
	for name, call := range followed(t, rt) {
		if name == "Finish" || name == "Run" || name == "Edit" {
			continue // once, and slow
		}
		n := collected(4, func(held *[64]byte) {
			_ = call(ggufx.Watch{Progress: func(uint64, uint64) { held[0]++ }})
		})
		check(t, n >= 3, name, n) // the last one's may still lie on a stack
	}
	hooks := map[string]func(held *[64]byte){
		"log": func(held *[64]byte) {
			o := &ggufx.RuntimeOptions{Log: func(ggufx.LogLevel, string) { held[0]++ }}
			must[*ggufx.Runtime](t)(ggufx.NewRuntime(o)).Close()
		},
		"executor": func(held *[64]byte) {
			must[*ggufx.Runtime](t)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Executor: &heldJobs{held: held}})).Close()
		},
		"allocator": func(held *[64]byte) { // which returns NULL: the call fails
			_, err := ggufx.NewRuntime(&ggufx.RuntimeOptions{Allocator: heldMemory{held}})
			fails(t, err, ggufx.StatusMemory)
		},
		"reader": func(held *[64]byte) {
			r := struct {
				*bytes.Reader
				held *[64]byte
			}{bytes.NewReader(data), held}
			must[*ggufx.File](t)(rt.OpenReader(r, int64(len(data)), nil)).Close()
		},
		"memory": func(held *[64]byte) {
			release := func() { held[0]++ }
			_, err := rt.WrapMemory(ggufx.TypeF32, []uint64{32}, 0, nil, 1, "w", release)
			check(t, err != nil && held[0] == 1, held[0])
		},
	}
	for name, use := range hooks {
		n := collected(4, use)
		check(t, n >= 3, name, n)
	}
}
