// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"math"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func smallSession(t *testing.T, rt *ggufx.Runtime) *ggufx.Session {
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil))
	return must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 64}))
}

func logprobOf(t testing.TB, rt *ggufx.Runtime, logits []float32, id int32) float32 {
	_, values, err := rt.Logprobs(1, logits, []int32{id})
	ok(t, err)
	return values[0]
}

func TestLogprobs(t *testing.T) {
	rt := newRuntime(t)
	logits := []float32{0.5, 3, float32(math.Inf(-1)), 3, 1}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	want := func(x float64) float32 { return float32(x - math.Log(sum)) }
	ids, values, err := rt.Logprobs(3, logits, nil)
	ok(t, err)
	chosen := logprobOf(t, rt, logits, 0)
	check(t, ids[0] == 1 && ids[1] == 3 && ids[2] == 4, ids)
	check(t, near(values, []float32{want(3), want(3), want(1)}, 1e-6), values)
	check(t, near([]float32{chosen}, []float32{want(0.5)}, 1e-6), chosen)
	check(t, math.IsInf(float64(logprobOf(t, rt, logits, 2)), -1))
	_, _, err = rt.Logprobs(6, logits, nil)
	fails(t, err, ggufx.StatusArgument)
	_, _, err = rt.Logprobs(-1, logits, nil)
	fails(t, err, ggufx.StatusArgument)
	_, _, err = rt.Logprobs(1, logits, []int32{5})
	fails(t, err, ggufx.StatusArgument)
	_, _, err = rt.Logprobs(1, []float32{float32(math.NaN())}, []int32{0})
	fails(t, err, ggufx.StatusValue)
}

func TestEndings(t *testing.T) {
	rt := newRuntime(t)
	session, context := smallSession(t, rt), []int32{1, 300, 301}
	endings := [][]int32{{302}, {303, 304}, {302, 305, 306}}
	got := must[[]float64](t)(session.EvalContinuations(context, listsOf(endings...), nil))
	for i, ending := range endings {
		sum, next := 0.0, context
		for _, id := range ending {
			sum += float64(logprobOf(t, rt, decoded(t, session, lastOf(0, next)), id))
			next = []int32{id}
		}
		// Products of one column and of many have other bits.
		check(t, math.Abs(sum-got[i]) < 0.05, sum, got[i])
		ok(t, session.Truncate(0, 0))
	}
	_, err := session.EvalContinuations(context, listsOf([]int32{302}, nil), nil)
	fails(t, err, ggufx.StatusArgument)
	_, err = session.EvalContinuations(context, listsOf(make([]int32, 64)), nil)
	fails(t, err, ggufx.StatusCapacity)
	check(t, session.Length(0) == 0)
}

func TestCollectImatrix(t *testing.T) {
	session := smallSession(t, newRuntime(t))
	tokens := make([]int32, 80)
	for i := range tokens {
		tokens[i] = int32(300 + i)
	}
	m := must[*ggufx.Imatrix](t)(session.NewImatrix(tokens, 32, 1, &ggufx.ImatrixOptions{Dataset: "text"}))
	info := must[ggufx.ImatrixFacts](t)(m.Info())
	check(t, must[string](t)(m.DatasetAt(0)) == "text")
	q := entryOf(t, m, "blk.0.attn_q.weight")
	check(t, len(q.Counts) == 1 && q.Counts[0] == 64, q.Counts)
	more := must[*ggufx.Imatrix](t)(session.NewImatrix(tokens, 32, 1, &ggufx.ImatrixOptions{Flags: ggufx.ImatrixOutput}))
	check(t, must[ggufx.ImatrixFacts](t)(more.Info()).Entries == info.Entries+1)
	check(t, near(entryOf(t, more, "blk.0.attn_q.weight").Sums, q.Sums, 1e-30))
	_, err := session.NewImatrix(tokens[:31], 32, -1, nil)
	fails(t, err, ggufx.StatusArgument)
	func() {
		defer func() { check(t, recover() == "of the program") }()
		hook := func(done, total uint64) { panic("of the program") }
		_, _ = session.NewImatrix(tokens, 32, -1, &ggufx.ImatrixOptions{Watch: ggufx.Watch{Progress: hook}})
	}()
	check(t, session.Length(0) == 0)
}
