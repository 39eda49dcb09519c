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

// newChain adds a sampler, if there is one.
func newChain(t testing.TB, add func(*ggufx.Sampler) error) *ggufx.Sampler {
	t.Helper()
	s := must[*ggufx.Sampler](t)(newRuntime(t).NewSampler(6, 7))
	if add != nil {
		ok(t, add(s))
	}
	return s
}

func draws(t testing.TB, s *ggufx.Sampler) (ids [40]int32) {
	t.Helper()
	for i := range ids {
		id, _, err := s.Sample(nil, chainLogits)
		ok(t, err)
		ids[i] = id
	}
	return ids
}

func TestEverySamplerDoesWhatItSays(t *testing.T) {
	never := float32(math.Inf(-1))
	for i, c := range []struct {
		add func(*ggufx.Sampler) error
		ids []int32
	}{
		{func(s *ggufx.Sampler) error { return s.AddTopK(1) }, []int32{1}},
		{func(s *ggufx.Sampler) error { return s.AddTopP(0.5) }, []int32{1, 4}},
		{func(s *ggufx.Sampler) error { return s.AddMinP(0.5) }, []int32{1, 2, 4}},
		{func(s *ggufx.Sampler) error { return s.AddTypical(0.4) }, []int32{4, 2}},
		{func(s *ggufx.Sampler) error { return s.AddTopNSigma(0.3) }, []int32{1, 4}},
		{func(s *ggufx.Sampler) error { return s.AddXtc(1, 0.2) }, []int32{2, 0, 3, 5}},
		{func(s *ggufx.Sampler) error { return s.AddTemperature(0, nil) }, []int32{1}},
		{func(s *ggufx.Sampler) error {
			return s.AddLogitBias([]ggufx.LogitBias{{1, never}, {4, -100}, {2, -100}, {0, 20}})
		}, []int32{0}},
		{func(s *ggufx.Sampler) error { return s.AddMirostat(&ggufx.MirostatOptions{Tau: 0.1}) }, []int32{1}},
		{func(s *ggufx.Sampler) error {
			return s.AddHost(func(list []ggufx.Candidate) error {
				for i := range list {
					list[i].Logit = never
					if list[i].ID == 3 {
						list[i].Logit = 1
					}
				}
				return nil
			})
		}, []int32{3}},
	} {
		for _, id := range draws(t, newChain(t, c.add)) {
			found := false
			for _, want := range c.ids {
				found = found || id == want
			}
			check(t, found, i, id)
		}
	}
}

func TestClonesGoOnAsTheFirstOne(t *testing.T) {
	first := newChain(t, func(s *ggufx.Sampler) error { return s.AddTemperature(2, nil) })
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
	s := newChain(t, nil)
	ok(t, s.AddHost(func([]ggufx.Candidate) error { return errMine }))
	_, _, err := s.Sample(nil, chainLogits)
	fails(t, err, ggufx.StatusCancelled)
	check(t, errors.Is(err, errMine))
	s = newChain(t, nil)
	ok(t, s.AddHost(func([]ggufx.Candidate) error { panic("of the program") }))
	clone := must[*ggufx.Sampler](t)(s.Clone())
	ok(t, s.Close()) // the clone keeps the custom sampler
	func() {
		defer func() { check(t, recover() == "of the program") }()
		_, _, _ = clone.Sample(nil, chainLogits)
	}()
	s = newChain(t, func(s *ggufx.Sampler) error { return s.AddMirostat(nil) })
	fails(t, s.AddTopK(1), ggufx.StatusState)
	fails(t, newChain(t, nil).AddMinP(1.5), ggufx.StatusArgument)
	fails(t, newChain(t, nil).AddLogitBias([]ggufx.LogitBias{{1, 0.5}, {1, 0.5}}), ggufx.StatusDuplicate)
}

func draftSession(t testing.TB, rt *ggufx.Runtime) *ggufx.Session {
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil))
	return must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Context: 256}))
}

// generated is sixty ids.
func generated(t testing.TB, rt *ggufx.Runtime, draft *ggufx.DraftOptions) ([]int32, ggufx.GeneratorFacts) {
	s, prompt := draftSession(t, rt), make([]int32, 40)
	for i := range prompt {
		prompt[i] = int32(300 + i%8)
	}
	g := must[*ggufx.Generator](t)(s.NewGenerator(&ggufx.GeneratorOptions{
		Flags: ggufx.GeneratorIDsOnly | ggufx.GeneratorIgnoreEog, MaxTokens: 60, Draft: draft,
		Sampler: must[*ggufx.Sampler](t)(rt.NewSampler(1024, 3))}))
	ok(t, s.Close()) // is freed with the generator
	output := must[*ggufx.Stream](t)(g.Stream(&ggufx.Prompt{Tokens: prompt}))
	var ids []int32
	for output.Next(context.Background()) {
		for _, token := range output.Event().Tokens {
			ids = append(ids, token.ID)
		}
	}
	ok(t, output.Err())
	info := must[ggufx.GeneratorFacts](t)(g.Info())
	check(t, output.Event().End == ggufx.EndLength && len(ids) == 60 && info.Tokens == 60 && info.Accepted <= info.Drafted, info)
	ok(t, g.Close())
	return ids, info
}

func sameIDs(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestDraftsChangeNoID(t *testing.T) {
	rt := newRuntime(t)
	want, none := generated(t, rt, nil)
	found, _ := generated(t, rt, &ggufx.DraftOptions{Match: 2})
	check(t, sameIDs(found, want) && none.Drafted == 0)
	asked, info := generated(t, rt, &ggufx.DraftOptions{Session: draftSession(t, rt)})
	check(t, sameIDs(asked, want) && info.Drafted > 0)
}

func TestACancelledCallChangesNothing(t *testing.T) {
	rt := newRuntime(t)
	s, tokenizer := draftSession(t, rt), must[*ggufx.Tokenizer](t)(demo(t, rt).NewTokenizer())
	grammar := must[*ggufx.Grammar](t)(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Text: `root ::= "once"`}))
	g := must[*ggufx.Generator](t)(s.NewGenerator(&ggufx.GeneratorOptions{Grammar: grammar, Draft: &ggufx.DraftOptions{}}))
	_, err := g.Next(nil)
	fails(t, err, ggufx.StatusState)
	ok(t, g.SetPrompt(&ggufx.Prompt{Tokens: []int32{1, 300}}))
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = g.Next(&ggufx.StepOptions{Watch: ggufx.Watch{Context: done}})
	fails(t, err, ggufx.StatusCancelled)
	check(t, must[ggufx.GeneratorFacts](t)(g.Info()).Tokens == 0 && s.Length(0) == 0)
	text := ""
	event := must[ggufx.Event](t)(g.Next(nil))
	for ; event.Kind != ggufx.EventKindEnd; event = must[ggufx.Event](t)(g.Next(nil)) {
		text += event.Text
	}
	check(t, text == "once" && event.End == ggufx.EndEog, text)
	_, err = draftSession(t, rt).NewGenerator(&ggufx.GeneratorOptions{Draft: &ggufx.DraftOptions{Draft: 32}})
	fails(t, err, ggufx.StatusLimit)
	_, err = g.Stream(&ggufx.Prompt{})
	fails(t, err, ggufx.StatusArgument)
	output := must[*ggufx.Stream](t)(g.Stream(&ggufx.Prompt{Tokens: []int32{1, 300}}))
	check(t, !output.Next(done) && errors.Is(output.Err(), context.Canceled), output.Err())
	check(t, !output.Next(context.Background()) && must[ggufx.Event](t)(g.Next(nil)).End == ggufx.EndCancelled)
}

func TestAModelGenerates(t *testing.T) {
	rt := newRuntime(t)
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil))
	output := must[*ggufx.Stream](t)(model.Generate("Once upon a time", &ggufx.GeneratorOptions{MaxTokens: 4}))
	ok(t, model.Close())
	text := ""
	for output.Next(context.Background()) {
		text += output.Event().Text
	}
	check(t, output.Err() == nil && text == " Nib was", text)
	ok(t, output.Close())
	defer func() { check(t, recover() != nil) }()
	ggufx.Must(model.Generate("", nil))
}

func TestMeasure(t *testing.T) {
	s, tokens := smallSession(t, newRuntime(t)), make([]int32, 128)
	for i := range tokens {
		tokens[i] = int32(300 + i)
	}
	path, saved := filepath.Join(t.TempDir(), "logits"), bytes.Buffer{}
	first := must[ggufx.EvalFacts](t)(s.EvalPerplexity(tokens, 64, 1, &ggufx.EvalOptions{SavePath: path}))
	must[ggufx.EvalFacts](t)(s.EvalPerplexity(tokens, 64, 1, &ggufx.EvalOptions{Write: &saved}))
	file, err := os.ReadFile(path)
	ok(t, err)
	check(t, bytes.Equal(file, saved.Bytes()) && first.Chunks == 2 && first.Flags&ggufx.EvalCompared == 0 && first.Perplexity > 1)
	chunks := 0
	report := func(ggufx.EvalFacts) error { chunks++; return nil }
	same := must[ggufx.EvalFacts](t)(s.EvalPerplexity(tokens, 64, 1, &ggufx.EvalOptions{Read: &saved, Report: report}))
	check(t, same.Kl < 1e-6 && same.SameTopToken == 1 && same.Flags == ggufx.EvalCompared|ggufx.EvalSameModel && chunks == 2, same)
	check(t, same.Perplexity == first.Perplexity)
	_, err = s.EvalPerplexity(tokens[1:], 63, 1, &ggufx.EvalOptions{ReferencePath: path})
	fails(t, err, ggufx.StatusMismatch)
	_, err = s.EvalPerplexity(tokens, 64, 1, &ggufx.EvalOptions{ReferencePath: path + "x"})
	fails(t, err, ggufx.StatusIO)
	check(t, must[ggufx.EvalFacts](t)(s.EvalPerplexity(tokens, 64, 1, &ggufx.EvalOptions{Stride: 16})).Chunks == 5)
	_, err = s.EvalPerplexity(tokens, 64, 1, &ggufx.EvalOptions{Report: func(ggufx.EvalFacts) error { return errMine }})
	fails(t, err, ggufx.StatusCancelled)
	check(t, s.Length(0) == 0)
}
