// Greedy generation: a prompt, then the events of a generator.
// SPDX-License-Identifier: MIT
package main

import (
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
	if err := generator.SetPrompt(&ggufx.Prompt{Text: prompt}); err != nil {
		log.Fatal(err)
	}
	fmt.Print(prompt)
	for event := try(generator.Next(nil)); event.Kind != ggufx.EventKindEnd; event = try(generator.Next(nil)) {
		fmt.Print(event.Text)
	}
	fmt.Println()
}
