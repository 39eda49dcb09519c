// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"math"
	"testing"
	"time"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// benchmark reports the nanoseconds of a product on one thread, the best of several rounds; see
// ../cost.py, which has it run once (-benchtime 1x).
func benchmark(b *testing.B, kind ggufx.TensorType, rows, columns, rounds, calls int) {
	rt := must[*ggufx.Runtime](b)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Threads: 1}))
	values := make([]float32, rows*columns)
	for i := range values {
		values[i] = float32(i%17) - 8
	}
	blocks := make([]byte, rows*int(must[uint64](b)(ggufx.TypeRowBytes(kind, uint64(columns)))))
	ok(b, quantizeTo(rt, blocks, kind, values, rows, columns, nil))
	w := must[*ggufx.Tensor](b)(rt.WrapTensor(kind, []uint64{uint64(columns), uint64(rows)}, 0, blocks, "w"))
	x, y, least := make([]float32, columns), make([]float32, rows), math.Inf(1)
	for i := range x {
		x[i] = 1
	}
	for round := 0; round < rounds; round++ {
		start := time.Now()
		for i := 0; i < calls; i++ {
			if err := rt.Matvec(y, w, x, nil); err != nil {
				b.Fatal(err)
			}
		}
		least = math.Min(least, float64(time.Since(start).Nanoseconds())/float64(calls))
	}
	b.ReportMetric(least, "ns/op")
}

func BenchmarkSmallestProduct(b *testing.B) { benchmark(b, ggufx.TypeQ8_0, 1, 32, 20, 20000) }
func BenchmarkLargeProduct(b *testing.B)    { benchmark(b, ggufx.TypeQ4_K, 4096, 4096, 100, 5) }
