// Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const schema = `{"type": "object", "additionalProperties": false,
    "required": ["name", "age", "likes"], "properties": {
    "name": {"enum": ["Nib", "Tom"]}, "age": {"type": "integer", "minimum": 1, "maximum": 9},
    "likes": {"type": "array", "maxItems": 2, "items": {"enum": ["books", "sun"]}}}}`

func try[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	rt := try(ggufx.NewRuntime(nil))
	defer rt.Close()
	file := try(rt.Open(os.Args[1], nil))
	defer file.Close()
	model, tokenizer := try(rt.NewModel(file, nil)), try(file.NewTokenizer())
	defer model.Close()
	defer tokenizer.Close()
	session := try(model.NewSession(nil))
	defer session.Close()
	logits := make([]float32, try(model.Info()).Vocab)
	sampler := try(rt.NewSampler(uint32(len(logits)), nil))
	defer sampler.Close()
	grammar := try(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Kind: ggufx.GrammarKindJSONSchema, Text: schema,
		Flags: ggufx.GrammarCompact}))
	defer grammar.Close()
	matcher := try(grammar.NewMatcher())
	defer matcher.Close()
	var ids []int32
	next := try(tokenizer.Tokenize("Once upon a time", ggufx.TokenizeAddSpecial))
	for try(matcher.Info()).Flags&ggufx.MatcherEnded == 0 {
		if err := session.Decode(next, nil); err != nil {
			log.Fatal(err)
		}
		if err := session.Logits(logits); err != nil {
			log.Fatal(err)
		}
		id, _, err := sampler.SampleMatching(matcher, logits)
		ids = append(ids, try(id, err))
		next = ids[len(ids)-1:]
	}
	fmt.Println(try(tokenizer.Detokenize(ids, 0)))
}
