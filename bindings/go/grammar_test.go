// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func newMatcher(t *testing.T, g *ggufx.Grammar) *ggufx.Matcher {
	return must[*ggufx.Matcher](t)(g.NewMatcher())
}

func TestAMatcherFollowsAText(t *testing.T) {
	rt := newRuntime(t)
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, rt).NewTokenizer())
	grammar := must[*ggufx.Grammar](t)(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Text: `root ::= " the " [a-z]{3,6} "."`}))
	m := newMatcher(t, grammar)
	begin, err := m.Info()
	ok(t, err)
	check(t, begin == ggufx.MatcherFacts{Vocab: 1024, Words: 32}, begin)
	ids, err := tokenizer.Tokenize("the cat.", 0)
	ok(t, err)
	mask := make([]uint32, 33)
	for _, id := range ids {
		mask[32] = 1
		ok(t, m.Mask(mask))
		check(t, mask[id/32]>>(id%32)&1 == 1 && mask[32] == 0, id)
		ok(t, m.Accept([]int32{id}))
	}
	now, err := m.Info()
	ok(t, err)
	check(t, now.Flags == ggufx.MatcherComplete && now.Tokens == uint64(len(ids)), now)
	before := must[*ggufx.Matcher](t)(m.Clone())
	ok(t, m.Accept([]int32{2})) // </s>
	now, err = m.Info()
	ok(t, err)
	check(t, now.Flags&ggufx.MatcherEnded != 0, now)
	fails(t, m.Mask(mask), ggufx.StatusState)
	ok(t, before.Rollback(uint64(len(ids))))
	now, err = before.Info()
	ok(t, err)
	check(t, now == begin, now)
	err = before.Accept([]int32{ids[0], ids[1], 2})
	fails(t, err, ggufx.StatusValue)
	check(t, err.(*ggufx.Error).Index == 2, err)
	fails(t, before.Accept([]int32{1024}), ggufx.StatusArgument)
	fails(t, before.Rollback(1), ggufx.StatusArgument)
	fails(t, before.Mask(mask[:31]), ggufx.StatusCapacity)
	ok(t, grammar.Close())
	ok(t, before.Accept(ids)) // which keeps the grammar
	ok(t, m.Close())
	check(t, m.Accept([]int32{1}) != nil)
}

func TestWhatIsSampledFits(t *testing.T) {
	rt := newRuntime(t)
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, rt).NewTokenizer())
	grammar := must[*ggufx.Grammar](t)(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Kind: ggufx.GrammarKindJSONSchema,
		Text: `{"type":"array","items":{"enum":["é",1]},"minItems":1,"maxItems":3}`, Flags: ggufx.GrammarCompact}))
	logits := make([]float32, 1024)
	for seed := uint64(0); seed < 20; seed++ {
		sampler := must[*ggufx.Sampler](t)(rt.NewSampler(1024, seed))
		m := newMatcher(t, grammar)
		var ids []int32
		for {
			id, logprob, err := sampler.Sample(m, logits)
			ok(t, err)
			check(t, math.Abs(float64(logprob)+math.Log(1024)) < 1e-4, logprob)
			now, err := m.Info()
			ok(t, err)
			if now.Flags&ggufx.MatcherEnded != 0 {
				break
			}
			ids = append(ids, id)
		}
		text, err := tokenizer.Detokenize(ids, ggufx.DetokenizeKeepSpace)
		ok(t, err)
		var items []any
		ok(t, json.Unmarshal([]byte(text), &items))
		check(t, len(items) >= 1 && len(items) <= 3, text)
		for _, item := range items {
			check(t, item == "é" || item == 1.0, text)
		}
		ok(t, sampler.Close())
		ok(t, m.Close())
	}
}

func TestFaultsOfGrammarsAreTold(t *testing.T) {
	rt := newRuntime(t)
	tokenizer := must[*ggufx.Tokenizer](t)(demo(t, rt).NewTokenizer())
	_, err := rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Text: "root ::= x"})
	fails(t, err, ggufx.StatusMalformed)
	check(t, strings.Contains(err.Error(), "line 1, column 10"), err)
	_, err = rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Kind: ggufx.GrammarKindJSONSchema, Text: `{"items":{"uniqueItems":true}}`})
	fails(t, err, ggufx.StatusUnsupported)
	check(t, strings.Contains(err.Error(), "#/items: 'uniqueItems' is supported"), err)
	_, err = rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Kind: ggufx.GrammarKindJSONSchema, Text: "false"})
	fails(t, err, ggufx.StatusValue)
	var none *ggufx.Grammar
	_, err = none.NewMatcher()
	fails(t, err, ggufx.StatusArgument)
	ok(t, none.Close())
}
