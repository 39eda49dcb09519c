// Greedy generation: prefills a prompt, then decodes the most likely token at each step.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// generate adds tokens to ids, 40 in all.
func generate(session *ggufx.Session, sampler *ggufx.Sampler, tokenizer *ggufx.Tokenizer,
	ids []int32, logits []float32) ([]int32, error) {
	for first := 0; len(ids) < 40; {
		if err := session.Decode(ids[first:], nil); err != nil {
			return nil, err
		}
		if err := session.Logits(logits); err != nil {
			return nil, err
		}
		first = len(ids)
		id, _, err := sampler.Sample(logits)
		if err != nil {
			return nil, err
		}
		token, err := tokenizer.TokenInfo(id)
		if err != nil {
			return nil, err
		}
		if token.Flags&ggufx.TokenEnd != 0 {
			break
		}
		ids = append(ids, id)
	}
	return ids, nil
}

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
	vocab := try(model.Info()).Vocab
	sampler := try(rt.NewSampler(vocab, nil))
	defer sampler.Close()
	ids := try(tokenizer.Tokenize("Once upon a time", ggufx.TokenizeAddSpecial))
	ids = try(generate(session, sampler, tokenizer, ids, make([]float32, vocab)))
	fmt.Println(try(tokenizer.Detokenize(ids, 0)))
}
