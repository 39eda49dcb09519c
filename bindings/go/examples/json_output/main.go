// Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
package main

import (
	"context"
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
	grammar := try(rt.NewGrammar(tokenizer, &ggufx.GrammarOptions{Kind: ggufx.GrammarKindJSONSchema, Text: schema,
		Flags: ggufx.GrammarCompact}))
	defer grammar.Close()
	generator := try(session.NewGenerator(&ggufx.GeneratorOptions{Grammar: grammar}))
	defer generator.Close()
	output := try(generator.Stream(&ggufx.Prompt{Text: "Once upon a time"}))
	for output.Next(context.Background()) {
		fmt.Print(output.Event().Text)
	}
	if err := output.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
}
