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
	model, tokenizer := try(rt.NewModel(file)), try(ggufx.NewTokenizer(file))
	defer model.Close()
	defer tokenizer.Close()
	session := try(model.NewSession(nil))
	defer session.Close()
	logits := make([]float32, try(model.Info()).Vocab)
	sampler := try(rt.NewSampler(len(logits), nil))
	defer sampler.Close()
	grammar := try(rt.NewJSONGrammar(tokenizer, schema, ggufx.GrammarCompact))
	defer grammar.Close()
	matcher := try(grammar.NewMatcher())
	defer matcher.Close()
	var ids []int32
	next := try(tokenizer.Encode("Once upon a time", ggufx.TokenizeAddSpecial))
	for !try(matcher.Info()).Ended {
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
	fmt.Println(try(tokenizer.Decode(ids, 0)))
}
