// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// TestNoAllocationPerCall counts Go heap allocations in the calls of an inner loop.
func TestNoAllocationPerCall(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector lets pools forget")
	}
	rt := newRuntime(t)
	f := demo(t, rt)
	w := must[*ggufx.Tensor](t)(f.Tensor("blk.0.attn_q.weight"))
	model, ids := must[*ggufx.Model](t)(rt.NewModel(f, nil)), []int32{1}
	session := must[*ggufx.Session](t)(model.NewSession(nil))
	embedder := must[*ggufx.Embedder](t)(model.NewEmbedder(&ggufx.EmbedOptions{Context: 4, Batch: 4}))
	logits, sampler := make([]float32, 1024), must[*ggufx.Sampler](t)(rt.NewSampler(1024, 0))
	items := []ggufx.DecodeItem{lastOf(0, ids)}
	y, x := make([]float32, 512), numbers(512)
	kv, half := filledKV(t, rt, 5), make([]uint16, 64)
	q, out, blocks := numbers(256), make([]float32, 256), make([]byte, 2*272)
	ok(t, kv.Copy(0, 1, 0, 5))
	rows, matrices, both, at := []int{256, 256}, []*ggufx.Tensor{w, w}, []uint32{0, 1}, []int32{5, 5}
	experts := must[*ggufx.Tensor](t)(rt.WrapTensor(ggufx.TypeQ8_0, []uint64{256, 1, 2}, 0, blocks, "experts"))
	floats := &ggufx.KVTokens{Tokens: 1, K: x[:64], V: x[64:128]}
	halves := &ggufx.KVTokens{Tokens: 1, Type: ggufx.TypeBF16, K: half, V: half}
	batch := &ggufx.KVTokens{Tokens: 2, Sequences: both, Positions: at, K: x[:128], V: x[128:256]}
	query := &ggufx.KVQueries{Queries: 1, Q: q[:128]}
	queries := &ggufx.KVQueries{Queries: 2, Sequences: both, Q: q}
	span, args := &ggufx.KVRange{First: 1, Tokens: 1}, &ggufx.QuantizeArgs{Type: ggufx.TypeQ8_0, Rows: x, NumRows: 2, Cols: 256}
	lists := listsOf(ids)
	for name, call := range map[string]func() error{
		"MatVec":      func() error { return rt.Matvec(y[:256], w, x[:256], nil) },
		"MatVecMany":  func() error { return rt.MatvecMany(y, rows, matrices, x[:256], nil) },
		"MatMul":      func() error { return rt.Matmul(y, 0, w, x, 0, 2, nil) },
		"MatMulID":    func() error { return rt.MatmulID(y[:2], 0, experts, both, 2, x[:256], 0, 1, nil) },
		"Dequantize":  func() error { return rt.Dequantize(y, w, 3, 2) },
		"Quantize":    func() error { return rt.Quantize(blocks, args) },
		"Attend":      func() error { return kv.Attend(out[:128], nil, query, nil) },
		"AttendBatch": func() error { return kv.Attend(out, nil, queries, nil) },
		"Read":        func() error { return kv.Read(y[:64], nil, span) },
		"Scores":      func() error { return kv.Scores(y[:20], query, 0) },
		"Append": func() error {
			ok(t, kv.Append(floats))
			return kv.Truncate(0, 5)
		},
		"AppendHalf": func() error {
			ok(t, kv.Append(halves))
			return kv.Truncate(0, 5)
		},
		"AppendBatch": func() error {
			ok(t, kv.Append(batch))
			ok(t, kv.Truncate(1, 5))
			return kv.Truncate(0, 5)
		},
		"Embed": func() error { return embedder.Embed(out, lists, nil) },
		"Decode": func() error {
			ok(t, session.Truncate(0, 0))
			_, err := session.Decode(items, logits, nil)
			ok(t, err)
			_, _, err = sampler.Sample(nil, logits)
			return err
		},
	} {
		n := testing.AllocsPerRun(100, func() { ok(t, call()) })
		check(t, n == 0, name, n, "allocations")
	}
	check(t, testing.AllocsPerRun(10, func() { _, _ = w.Info() }) > 0, "nothing is counted")
}
