// Quantizes a whole model to Q4_K_M, to the same bytes as the reference quantizer.
// usage: quantize_file MODEL.gguf OUT.gguf
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func run(from, to string) error {
	rt, err := ggufx.NewRuntime(nil)
	if err != nil {
		return err
	}
	defer rt.Close()
	file, err := rt.Open(from, nil)
	if err != nil {
		return err
	}
	defer file.Close()
	mix, err := ggufx.FileTypeFind("Q4_K_M")
	if err != nil {
		return err
	}
	// The demo's model is Q8_0 already.
	options := &ggufx.QuantizerOptions{Flags: ggufx.QuantizerAllowRequantize}
	job, err := rt.NewQuantizer(file, mix, options)
	if err != nil {
		return err
	}
	defer job.Close()
	plan, err := job.Info()
	if err != nil {
		return err
	}
	if err := job.Run(to, nil); err != nil {
		return err
	}
	fmt.Printf("%d tensors, %d bytes become %d\n", plan.Tensors, plan.BytesIn, plan.BytesOut)
	return nil
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
