// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func smallSession(t *testing.T, rt *ggufx.Runtime) *ggufx.Session {
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt)))
	return must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 64}))
}

func TestStop(t *testing.T) {
	rt := newRuntime(t)
	stop := must[*ggufx.Stop](t)(rt.NewStop("</s>", "\xff\x00"))
	feed := func(text string, want ggufx.StopInfo) {
		t.Helper()
		info := must[ggufx.StopInfo](t)(stop.Feed([]byte(text)))
		check(t, info == want, info)
	}
	feed("a<", ggufx.StopInfo{-1, 1, 2})
	feed("/s", ggufx.StopInfo{-1, 1, 4})
	feed(">b", ggufx.StopInfo{0, 1, 5})
	_, err := stop.Feed([]byte("b"))
	fails(t, err, ggufx.StatusState)
	ok(t, stop.Reset())
	feed("</\xff\x00", ggufx.StopInfo{1, 2, 4})
	_, err = rt.NewStop("a", "")
	check(t, fails(t, err, ggufx.StatusArgument).Index == 1)
	_, err = rt.NewStop(strings.Repeat("a", 1<<20), "b")
	fails(t, err, ggufx.StatusLimit)
	ok(t, stop.Close())
	check(t, errors.Is(stop.Reset(), os.ErrClosed))
}

func TestLogprobs(t *testing.T) {
	rt := newRuntime(t)
	logits := []float32{0.5, 3, float32(math.Inf(-1)), 3, 1}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	want := func(x float64) float32 { return float32(x - math.Log(sum)) }
	ids, values := make([]int32, 3), make([]float32, 3)
	chosen := must[float32](t)(rt.Logprobs(logits, ids, values, 0))
	check(t, ids[0] == 1 && ids[1] == 3 && ids[2] == 4, ids)
	check(t, near(values, []float32{want(3), want(3), want(1)}, 1e-6), values)
	check(t, near([]float32{chosen}, []float32{want(0.5)}, 1e-6), chosen)
	check(t, math.IsInf(float64(must[float32](t)(rt.Logprobs(logits, nil, nil, 2))), -1))
	must[float32](t)(rt.Logprobs(logits, ids, values, ggufx.NoToken))
	_, err := rt.Logprobs(logits, make([]int32, 6), make([]float32, 6), 0)
	fails(t, err, ggufx.StatusArgument)
	_, err = rt.Logprobs(logits, ids, values[:2], 0)
	fails(t, err, ggufx.StatusArgument)
	_, err = rt.Logprobs(logits, nil, nil, 5)
	fails(t, err, ggufx.StatusArgument)
	_, err = rt.Logprobs([]float32{float32(math.NaN())}, nil, nil, 0)
	fails(t, err, ggufx.StatusValue)
}

func TestEndings(t *testing.T) {
	rt := newRuntime(t)
	session, context := smallSession(t, rt), []int32{1, 300, 301}
	endings := [][]int32{{302}, {303, 304}, {302, 305, 306}}
	got := must[[]float64](t)(session.Endings(context, endings, nil))
	logits := make([]float32, 1024)
	for i, ending := range endings {
		sum := 0.0
		ok(t, session.Decode(context, nil))
		for _, id := range ending {
			ok(t, session.Logits(logits))
			sum += float64(must[float32](t)(rt.Logprobs(logits, nil, nil, id)))
			ok(t, session.Decode([]int32{id}, nil))
		}
		// Products of one column and of many have other bits.
		check(t, math.Abs(sum-got[i]) < 0.05, sum, got[i])
		ok(t, session.Truncate(0))
	}
	_, err := session.Endings(context, [][]int32{{302}, {}}, nil)
	fails(t, err, ggufx.StatusArgument)
	_, err = session.Endings(context, [][]int32{make([]int32, 64)}, nil)
	fails(t, err, ggufx.StatusCapacity)
	check(t, session.Length() == 0)
}

func TestCollectImatrix(t *testing.T) {
	session := smallSession(t, newRuntime(t))
	tokens := make([]int32, 80)
	for i := range tokens {
		tokens[i] = int32(300 + i)
	}
	m := must[*ggufx.Imatrix](t)(session.CollectImatrix(tokens, 32, 1, &ggufx.CollectOptions{Dataset: "text"}))
	info := must[ggufx.ImatrixInfo](t)(m.Info())
	check(t, must[string](t)(m.Dataset(0)) == "text")
	q := must[*ggufx.ImatrixEntry](t)(m.Find("blk.0.attn_q.weight"))
	check(t, len(q.Counts) == 1 && q.Counts[0] == 64, q.Counts)
	more := must[*ggufx.Imatrix](t)(session.CollectImatrix(tokens, 32, 1, &ggufx.CollectOptions{Output: true}))
	check(t, must[ggufx.ImatrixInfo](t)(more.Info()).Entries == info.Entries+1)
	check(t, near(must[*ggufx.ImatrixEntry](t)(more.Find("blk.0.attn_q.weight")).Sums, q.Sums, 1e-30))
	_, err := session.CollectImatrix(tokens[:31], 32, -1, nil)
	fails(t, err, ggufx.StatusArgument)
	func() {
		defer func() { check(t, recover() == "of the program") }()
		hook := func(done, total uint64) { panic("of the program") }
		_, _ = session.CollectImatrix(tokens, 32, -1, &ggufx.CollectOptions{Watch: ggufx.Watch{Progress: hook}})
	}()
	check(t, session.Length() == 0)
}
