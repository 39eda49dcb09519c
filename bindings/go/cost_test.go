// SPDX-License-Identifier: MIT

package ggufx

import "testing"

// BenchmarkSmallestProduct is what a call costs; see ../README.md.
func BenchmarkSmallestProduct(b *testing.B) {
	rt := must[*Runtime](b)(NewRuntime(&RuntimeOptions{Threads: 1}))
	w := must[*Tensor](b)(rt.Wrap(TypeQ8_0, []uint64{32, 1}, 0, make([]byte, 34), "w"))
	x, y := make([]float32, 32), make([]float32, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if err := w.MatVec(rt, y, x, nil); err != nil {
			b.Fatal(err)
		}
	}
}
