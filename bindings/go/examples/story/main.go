// Greedy generation: a prompt, then the events of a generator.
// SPDX-License-Identifier: MIT
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const prompt = "Once upon a time"

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
	model := try(rt.NewModel(file, nil))
	defer model.Close()
	session := try(model.NewSession(nil))
	defer session.Close()
	generator := try(session.NewGenerator(&ggufx.GeneratorOptions{MaxTokens: 34}))
	defer generator.Close()
	output := try(generator.Stream(&ggufx.Prompt{Text: prompt}))
	fmt.Print(prompt)
	for output.Next(context.Background()) {
		fmt.Print(output.Event().Text)
	}
	if err := output.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println()
}
