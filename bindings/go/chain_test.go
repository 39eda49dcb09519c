// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

var chainLogits = []float32{0.5, 3, 2.5, -1, 2.9, 0}

func newChain(t testing.TB, links ...ggufx.SamplerLink) *ggufx.Sampler {
	t.Helper()
	s := must[*ggufx.Sampler](t)(newRuntime(t).NewSamplerChain(6, 7))
	for _, link := range links {
		link := link
		ok(t, s.Add(&link))
	}
	return s
}

func draws(t testing.TB, s *ggufx.Sampler) (ids [40]int32) {
	t.Helper()
	for i := range ids {
		id, _, err := s.Sample(chainLogits)
		ok(t, err)
		ids[i] = id
	}
	return ids
}

func TestEveryLinkDoesWhatItSays(t *testing.T) {
	never := float32(math.Inf(-1))
	for _, c := range []struct {
		link ggufx.SamplerLink
		ids  []int32
	}{
		{ggufx.SamplerLink{Kind: ggufx.LinkKindTopK, K: 1}, []int32{1}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindTopP, P: 0.5}, []int32{1, 4}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindMinP, P: 0.5}, []int32{1, 2, 4}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindTypical, P: 0.4}, []int32{4, 2}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindTopNSigma, NSigma: 0.3}, []int32{1, 4}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindXtc, Probability: 1, Threshold: 0.2}, []int32{2, 0, 3, 5}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindTemperature}, []int32{1}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindBias, Biases: []ggufx.LogitBias{{1, never}, {4, -100}, {2, -100}, {0, 20}}}, []int32{0}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindMirostat, Version: 2, Tau: 0.1}, []int32{1}},
		{ggufx.SamplerLink{Kind: ggufx.LinkKindHost, Link: func(list []ggufx.Candidate) error {
			for i := range list {
				list[i].Logit = never
				if list[i].ID == 3 {
					list[i].Logit = 1
				}
			}
			return nil
		}}, []int32{3}},
	} {
		for _, id := range draws(t, newChain(t, c.link)) {
			found := false
			for _, want := range c.ids {
				found = found || id == want
			}
			check(t, found, c.link.Kind, id)
		}
	}
}

func TestClonesGoOnAsTheFirstOne(t *testing.T) {
	first := newChain(t, ggufx.SamplerLink{Kind: ggufx.LinkKindTemperature, Temperature: 2})
	before := draws(t, first)
	second := must[*ggufx.Sampler](t)(first.Clone())
	after := draws(t, second)
	check(t, draws(t, first) == after && before != after)
	ok(t, first.Reset())
	check(t, draws(t, first) == before)
	ok(t, first.Close())
	check(t, errors.Is(first.Reset(), os.ErrClosed))
}

func TestAHostMayStopOrPanic(t *testing.T) {
	s := newChain(t, ggufx.SamplerLink{Kind: ggufx.LinkKindHost, Link: func([]ggufx.Candidate) error { return errMine }})
	_, _, err := s.Sample(chainLogits)
	fails(t, err, ggufx.StatusCancelled)
	check(t, errors.Is(err, errMine))
	s = newChain(t, ggufx.SamplerLink{Kind: ggufx.LinkKindHost, Link: func([]ggufx.Candidate) error { panic("of the program") }})
	clone := must[*ggufx.Sampler](t)(s.Clone())
	ok(t, s.Close()) // the clone keeps the custom sampler
	func() {
		defer func() { check(t, recover() == "of the program") }()
		_, _, _ = clone.Sample(chainLogits)
	}()
	s = newChain(t, ggufx.SamplerLink{Kind: ggufx.LinkKindMirostat, Version: 1})
	fails(t, s.Add(&ggufx.SamplerLink{Kind: ggufx.LinkKindTopK, K: 1}), ggufx.StatusState)
	fails(t, newChain(t).Add(&ggufx.SamplerLink{Kind: ggufx.LinkKindMinP, P: 1.5}), ggufx.StatusArgument)
	twice := &ggufx.SamplerLink{Kind: ggufx.LinkKindBias, Biases: []ggufx.LogitBias{{1, 0.5}, {1, 0.5}}}
	fails(t, newChain(t).Add(twice), ggufx.StatusDuplicate)
}

func guessingSession(t testing.TB, rt *ggufx.Runtime) *ggufx.Session {
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil))
	return must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 256, MatmulFlags: ggufx.MatmulBatchInvariant}))
}

// plainText is sixty ids, one after another.
func plainText(t testing.TB, rt *ggufx.Runtime, prompt []int32) []int32 {
	s, sampler := guessingSession(t, rt), must[*ggufx.Sampler](t)(rt.NewSamplerChain(1024, 3))
	logits, ids := make([]float32, 1024), []int32(nil)
	ok(t, s.Decode(prompt, nil))
	for len(ids) < 60 {
		ok(t, s.Logits(logits))
		id, _, err := sampler.Sample(logits)
		ok(t, err)
		ids = append(ids, id)
		ok(t, s.Decode([]int32{id}, nil))
	}
	return ids
}

func guessedText(t testing.TB, rt *ggufx.Runtime, prompt []int32, options *ggufx.SpeculatorOptions) ([]int32, ggufx.SpeculatorFacts) {
	s, sampler := guessingSession(t, rt), must[*ggufx.Sampler](t)(rt.NewSamplerChain(1024, 3))
	g := must[*ggufx.Speculator](t)(s.NewSpeculator(options))
	ok(t, s.Decode(prompt, nil))
	var all []int32
	ids, logprobs := make([]int32, 20), make([]float32, 20)
	for len(all) < 60 {
		most := 60 - len(all)
		if most > 20 {
			most = 20
		}
		n := must[int](t)(g.Next(ids[:most], logprobs[:most], sampler, nil, nil))
		check(t, logprobs[n-1] <= 0)
		all = append(all, ids[:n]...)
	}
	info := must[ggufx.SpeculatorFacts](t)(g.Info())
	check(t, info.Tokens == 60 && info.Calls+info.Accepted == 60 && info.Accepted <= info.Drafted, info)
	ok(t, s.Close()) // is freed with the speculator
	ok(t, g.Close())
	return all, info
}

func sameIDs(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestGuessesChangeNoID(t *testing.T) {
	rt, prompt := newRuntime(t), make([]int32, 40)
	for i := range prompt {
		prompt[i] = int32(300 + i%8)
	}
	want := plainText(t, rt, prompt)
	found, _ := guessedText(t, rt, prompt, &ggufx.SpeculatorOptions{Match: 2})
	check(t, sameIDs(found, want))
	asked, info := guessedText(t, rt, prompt, &ggufx.SpeculatorOptions{Draft: guessingSession(t, rt)})
	check(t, sameIDs(asked, want) && info.Drafted > 0)
	calls := 0
	guess := func(out, text []int32, last int32) int {
		at := len(text) + 1 - len(prompt) // requested rows
		check(t, sameIDs(text[:len(prompt)], prompt) && last == want[at-1])
		calls++
		return copy(out, want[at:])
	}
	told, _ := guessedText(t, rt, prompt, &ggufx.SpeculatorOptions{Guess: guess})
	check(t, sameIDs(told, want) && calls > 1)
}

func TestGuessingFailsAsAWhole(t *testing.T) {
	rt, ids := newRuntime(t), make([]int32, 8)
	s, sampler := guessingSession(t, rt), must[*ggufx.Sampler](t)(rt.NewSampler(1024, nil))
	g := must[*ggufx.Speculator](t)(s.NewSpeculator(&ggufx.SpeculatorOptions{
		Guess: func([]int32, []int32, int32) int { panic("of the program") }}))
	_, err := g.Next(ids, nil, sampler, nil, nil)
	fails(t, err, ggufx.StatusState)
	ok(t, s.Decode([]int32{1, 300}, nil))
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, rt).NewTokenizer())
	matcher := newMatcher(t, must[*ggufx.Grammar](t)(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Text: `root ::= "once"`})))
	plain := must[*ggufx.Speculator](t)(s.NewSpeculator(nil))
	for must[ggufx.MatcherFacts](t)(matcher.Info()).Flags&ggufx.MatcherEnded == 0 {
		must[int](t)(plain.Next(ids, nil, sampler, matcher, nil))
	}
	ok(t, s.Decode([]int32{1}, nil))
	must[int](t)(plain.Next(ids, nil, sampler, nil, nil))
	done, cancel := context.WithCancel(context.Background())
	cancel()
	length := s.Length()
	_, err = plain.Next(ids, nil, sampler, nil, &ggufx.Watch{Context: done})
	fails(t, err, ggufx.StatusCancelled)
	check(t, s.Length() == length)
	ok(t, s.Decode([]int32{1}, nil))
	func() {
		defer func() { check(t, recover() == "of the program") }()
		for {
			must[int](t)(g.Next(ids, nil, sampler, nil, nil))
		}
	}()
	_, err = s.NewSpeculator(&ggufx.SpeculatorOptions{NumDraft: 32})
	fails(t, err, ggufx.StatusArgument)
	_, err = smallSession(t, rt).NewSpeculator(nil)
	fails(t, err, ggufx.StatusArgument)
}

func TestMeasure(t *testing.T) {
	s, tokens := smallSession(t, newRuntime(t)), make([]int32, 128)
	for i := range tokens {
		tokens[i] = int32(300 + i)
	}
	path, saved := filepath.Join(t.TempDir(), "logits"), bytes.Buffer{}
	first := must[ggufx.MeasureFacts](t)(s.Measure(tokens, 64, 1, &ggufx.MeasureOptions{SavePath: path}))
	must[ggufx.MeasureFacts](t)(s.Measure(tokens, 64, 1, &ggufx.MeasureOptions{Write: &saved}))
	file, err := os.ReadFile(path)
	ok(t, err)
	check(t, bytes.Equal(file, saved.Bytes()) && first.Chunks == 2 && first.Flags&ggufx.MeasureCompared == 0 && first.Perplexity > 1)
	chunks := 0
	report := func(ggufx.MeasureFacts) error { chunks++; return nil }
	same := must[ggufx.MeasureFacts](t)(s.Measure(tokens, 64, 1, &ggufx.MeasureOptions{Read: &saved, Report: report}))
	check(t, same.Kl < 1e-6 && same.SameTop == 1 && same.Flags == ggufx.MeasureCompared|ggufx.MeasureSameModel && chunks == 2, same)
	check(t, same.Perplexity == first.Perplexity)
	_, err = s.Measure(tokens[1:], 63, 1, &ggufx.MeasureOptions{BasePath: path})
	fails(t, err, ggufx.StatusMismatch)
	_, err = s.Measure(tokens, 64, 1, &ggufx.MeasureOptions{BasePath: path + "x"})
	fails(t, err, ggufx.StatusIO)
	check(t, must[ggufx.MeasureFacts](t)(s.Measure(tokens, 64, 1, &ggufx.MeasureOptions{Stride: 16})).Chunks == 5)
	_, err = s.Measure(tokens, 64, 1, &ggufx.MeasureOptions{Report: func(ggufx.MeasureFacts) error { return errMine }})
	fails(t, err, ggufx.StatusCancelled)
	check(t, s.Length() == 0)
}
