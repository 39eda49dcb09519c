// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"context"
	"math"
	"sync"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func TestProducts(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	w, x := must[*ggufx.Tensor](t)(f.Tensor("blk.0.ffn_down.weight")), numbers(768)
	y, rows := make([]float32, 256), make([]float32, 256*768)
	ok(t, rt.Matvec(y, w, x, &ggufx.MatmulOptions{Flags: ggufx.MatmulF32}))
	ok(t, rt.Dequantize(rows, w, 0, 256))
	for r := range y {
		sum := 0.0
		for i := range x {
			sum += float64(rows[r*768+i]) * float64(x[i])
		}
		check(t, math.Abs(sum-float64(y[r])) < 1e-4, r, sum, y[r])
	}
	q := must[*ggufx.Tensor](t)(f.Tensor("blk.0.attn_q.weight"))
	k := must[*ggufx.Tensor](t)(f.Tensor("blk.0.attn_k.weight"))
	one, two, many := make([]float32, 256), make([]float32, 128), make([]float32, 512)
	ok(t, rt.Matvec(one, q, x[:256], nil))
	ok(t, rt.Matvec(two, k, x[:256], nil))
	ok(t, rt.MatvecMany(many, []int{128, 256, 128}, []*ggufx.Tensor{k, q, k}, x[:256], nil))
	check(t, near(many[:384], append(append([]float32{}, two...), one...), 1e-30))
	check(t, near(many[384:], two, 1e-30))
	both := make([]float32, 600)
	ok(t, rt.Matmul(both, 300, q, x[:512], 256, 2, nil))
	check(t, near(both[:256], one, 1e-30))
	fails(t, rt.Matvec(one, q, x[:255], nil), ggufx.StatusArgument)
	fails(t, rt.Matvec(one[:255], q, x[:256], nil), ggufx.StatusArgument)
	fails(t, rt.MatvecMany(many, []int{256, 257}, []*ggufx.Tensor{q, k}, x[:256], nil), ggufx.StatusArgument)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	err := rt.Matvec(one, q, x[:256], &ggufx.MatmulOptions{Watch: ggufx.Watch{Context: done}})
	fails(t, err, ggufx.StatusCancelled)
}

func TestBlocks(t *testing.T) {
	rt, rows := newRuntime(t), numbers(512)
	for _, kind := range []ggufx.TensorType{ggufx.TypeQ8_0, ggufx.TypeQ4_K, ggufx.TypeF16} {
		blocks := make([]byte, 2*must[uint64](t)(ggufx.TypeRowBytes(kind, 256)))
		back := make([]float32, 512)
		ok(t, quantizeTo(rt, blocks, kind, rows, 2, 256, nil))
		ok(t, dequantizeTo(rt, back, kind, blocks))
		check(t, near(back, rows, 0.1), kind)
	}
	blocks := make([]byte, 3*4*2*34)
	ok(t, quantizeTo(rt, blocks, ggufx.TypeQ8_0, numbers(3*4*64), 12, 64, nil))
	w := must[*ggufx.Tensor](t)(rt.WrapTensor(ggufx.TypeQ8_0, []uint64{64, 4, 3}, 0, blocks, "experts"))
	y, one := make([]float32, 8), make([]float32, 4)
	ok(t, rt.MatmulID(y, 0, w, []uint32{2, 0}, 2, rows[:64], 0, 1, nil))
	ok(t, rt.Matvec(one, must[*ggufx.Tensor](t)(w.Slice(2, 2, 1)), rows[:64], nil))
	check(t, near(y[:4], one, 1e-30))
	check(t, fails(t, rt.MatmulID(y, 0, w, []uint32{2, 3}, 2, rows[:64], 0, 1, nil), ggufx.StatusArgument).Index == 0)
	fails(t, rt.MatmulID(y, 0, w, []uint32{2, 1, 0}, 2, rows[:64], 0, 1, nil), ggufx.StatusArgument)
	fails(t, quantizeTo(rt, blocks, ggufx.TypeIQ2_XS, rows, 2, 256, nil), ggufx.StatusArgument)
	fails(t, quantizeTo(rt, blocks, ggufx.TypeQ4_K, rows, 4, 128, nil), ggufx.StatusShape)
	fails(t, quantizeTo(rt, blocks, ggufx.TypeQ8_0, rows, 1, 500, nil), ggufx.StatusArgument)
	bad := append([]float32{}, rows...)
	bad[300] = float32(math.NaN())
	check(t, fails(t, quantizeTo(rt, blocks, ggufx.TypeQ8_0, bad, 2, 256, nil), ggufx.StatusValue).Index == 1)
	_, err := rt.WrapTensor(ggufx.TypeQ8_0, []uint64{64, 2}, 0, make([]byte, 100), "w")
	fails(t, err, ggufx.StatusBounds)
	err = quantizeTo(rt, blocks, ggufx.TypeQ8_0, rows, 2, 256, &ggufx.QuantizeArgs{Imatrix: []float32{1, 1, 1}})
	fails(t, err, ggufx.StatusArgument)
}

// halves runs the tasks on two goroutines.
type halves struct{ calls int }

func (h *halves) MaxWorkers() int { return 2 }
func (h *halves) ParallelFor(n int, task func(index, worker int)) {
	h.calls++
	var wait sync.WaitGroup
	for worker := 0; worker < 2; worker++ {
		wait.Add(1)
		go func(worker int) {
			defer wait.Done()
			for i := worker; i < n; i += 2 {
				task(i, worker)
			}
		}(worker)
	}
	wait.Wait()
}

type broken struct{}

func (broken) MaxWorkers() int                 { return 4 }
func (broken) ParallelFor(int, func(int, int)) { panic("jobs") }

func TestHooks(t *testing.T) {
	jobs := &halves{}
	rt := must[*ggufx.Runtime](t)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Executor: jobs, ISA: ggufx.ISAScalar,
		Log: func(level ggufx.LogLevel, text string) {}}))
	info := must[ggufx.RuntimeFacts](t)(rt.Info())
	check(t, info.ISAName == "scalar" && info.Threads == 2 && rt.KernelName(ggufx.TypeQ4_K) == "scalar")
	check(t, rt.KernelName(4) == "")
	blocks := make([]byte, 2048*2048/32*34)
	ok(t, quantizeTo(newRuntime(t), blocks, ggufx.TypeQ8_0, numbers(2048*2048), 2048, 2048, nil))
	w := must[*ggufx.Tensor](t)(rt.WrapTensor(ggufx.TypeQ8_0, []uint64{2048, 2048}, 0, blocks, "w"))
	x, y, z := numbers(2048), make([]float32, 2048), make([]float32, 2048)
	ok(t, rt.Matvec(y, w, x, nil))
	ok(t, newRuntime(t).Matvec(z, w, x, nil))
	check(t, jobs.calls > 0 && near(y, z, 1e-30), "the same bits")
	bad := must[*ggufx.Runtime](t)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Executor: broken{}}))
	fails(t, bad.Matvec(y, w, x, nil), ggufx.StatusInternal)
	_, err := ggufx.NewRuntime(&ggufx.RuntimeOptions{ISA: 99, Log: func(ggufx.LogLevel, string) {}})
	fails(t, err, ggufx.StatusUnsupported)
}

func TestObjectsAreSharedByGoroutines(t *testing.T) {
	rt := newRuntime(t)
	w := must[*ggufx.Tensor](t)(demo(t, rt).Tensor("blk.1.attn_q.weight"))
	x, expected := numbers(256), make([]float32, 256)
	ok(t, rt.Matvec(expected, w, x, nil))
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			y := make([]float32, 256)
			for j := 0; j < 20; j++ {
				if err := rt.Matvec(y, w, x, nil); err != nil || !near(y, expected, 1e-30) {
					t.Error("another result", err)
				}
			}
		}()
	}
	wait.Wait()
}
