// Continuous batching: several prompts in one session; each step decodes one token per sequence.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func try[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	prompts := []string{"Once upon a time", "The sun", "Nib was"}
	rt := try(ggufx.NewRuntime(nil))
	defer rt.Close()
	file := try(rt.Open(os.Args[1], nil))
	defer file.Close()
	model, tokenizer := try(rt.NewModel(file, nil)), try(file.NewTokenizer())
	defer model.Close()
	defer tokenizer.Close()
	session := try(model.NewSession(&ggufx.SessionOptions{Sequences: uint32(len(prompts))}))
	defer session.Close()
	vocab := int(try(model.Info()).Vocab)
	sampler := try(rt.NewSampler(uint32(vocab), 0))
	if err := sampler.AddTopK(1); err != nil { // greedy
		log.Fatal(err)
	}
	defer sampler.Close()
	texts, items := make([][]int32, len(prompts)), make([]ggufx.DecodeItem, len(prompts))
	for i, prompt := range prompts {
		texts[i] = try(tokenizer.Tokenize(prompt, ggufx.TokenizeAddSpecial))
		items[i] = ggufx.DecodeItem{Sequence: uint32(i), Tokens: texts[i], Flags: ggufx.DecodeLogits}
	}
	for step := 0; step < 12; step++ {
		rows := try(session.Decode(items, nil, nil))
		for i := range texts {
			id, _, err := sampler.Sample(nil, rows[i*vocab:(i+1)*vocab])
			texts[i] = append(texts[i], try(id, err))
			items[i].Tokens = texts[i][len(texts[i])-1:]
		}
	}
	for _, text := range texts {
		fmt.Println(try(tokenizer.Detokenize(text, 0)))
	}
}
