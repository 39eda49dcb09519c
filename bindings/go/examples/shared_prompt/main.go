// Shared prefix: a common prompt is computed once, and sequences share its KV cache.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const prompt = "Once upon a time Nib was in the village. The old book was under the bed. " +
	"The sun was warm. Nib and Tuft played and sang. " +
	"Soon it was getting dark. That night they went home. The next day they baked a cake."

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
	session := try(model.NewSession(&ggufx.SessionOptions{Sequences: 3}))
	defer session.Close()
	sampler := try(rt.NewSampler(try(model.Info()).Vocab, 0))
	if err := sampler.AddTopK(1); err != nil { // greedy
		log.Fatal(err)
	}
	defer sampler.Close()
	ids := try(tokenizer.Tokenize(prompt, ggufx.TokenizeAddSpecial))
	all := ggufx.DecodeItem{Tokens: ids, Flags: ggufx.DecodeCheckpoint}
	try(session.Decode([]ggufx.DecodeItem{all}, nil, nil))
	for i, text := range []string{" Nib was", " The sun"} {
		item := ggufx.DecodeItem{Sequence: uint32(i + 1), Tokens: try(tokenizer.Tokenize(text, 0)), Flags: ggufx.DecodeLogits}
		if err := session.Copy(0, item.Sequence, uint64(len(ids))); err != nil {
			log.Fatal(err)
		}
		more, row := item.Tokens, try(session.Decode([]ggufx.DecodeItem{item}, nil, nil))
		for n := 0; n < 8; n++ {
			id, _, err := sampler.Sample(nil, row)
			more = append(more, try(id, err))
			item.Tokens = more[len(more)-1:]
			row = try(session.Decode([]ggufx.DecodeItem{item}, nil, nil))
		}
		fmt.Println(try(tokenizer.Detokenize(more, 0)))
	}
	facts := try(session.Info())
	fmt.Printf("%d tokens, %d shared pages\n", facts.Tokens, facts.SharedPages)
}
