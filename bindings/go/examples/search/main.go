// Semantic search: finds the text most similar to a question by cosine similarity of embeddings.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"
	"sort"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func try[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	texts := []string{"The old book was under the bed.", "Nib and Nib played in the village.",
		"The sun was warm and the sky was blue.", "Where is the book?"}
	rt := try(ggufx.NewRuntime(nil))
	defer rt.Close()
	file := try(rt.Open(os.Args[1], nil))
	defer file.Close()
	model, tokenizer := try(rt.NewModel(file, nil)), try(file.NewTokenizer())
	defer model.Close()
	defer tokenizer.Close()
	embedder := try(model.NewEmbedder(&ggufx.EmbedOptions{Pooling: ggufx.PoolingMean,
		Flags: ggufx.EmbedNormalize}))
	defer embedder.Close()
	var ids [][]int32
	for _, text := range texts {
		ids = append(ids, try(tokenizer.Tokenize(text, 0)))
	}
	vectors, n := try(embedder.EmbedTexts(ids, nil)), int(try(embedder.Info()).Dimensions)
	cosine := func(text int) (sum float32) {
		for i := 0; i < n; i++ {
			sum += vectors[text*n+i] * vectors[3*n+i]
		}
		return sum
	}
	found := []int{0, 1, 2}
	sort.Slice(found, func(a, b int) bool { return cosine(found[a]) > cosine(found[b]) })
	for _, text := range found {
		fmt.Printf("%.3f %s\n", cosine(text), texts[text])
	}
}
