// y = W x, straight from the quantized blocks of a file.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"
	"os"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func run(path string) error {
	rt, err := ggufx.NewRuntime(nil)
	if err != nil {
		return err
	}
	defer rt.Close()
	file, err := rt.Open(path, nil)
	if err != nil {
		return err
	}
	defer file.Close()
	w, err := file.Tensor("token_embd.weight")
	if err != nil {
		return err
	}
	info, err := w.Info()
	if err != nil {
		return err
	}
	x, y := make([]float32, info.Ne[0]), make([]float32, info.Rows)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	if err := rt.Matvec(y, w, x, nil); err != nil {
		return err
	}
	last := len(y) - 1
	fmt.Printf("%d rows, y[0] = %.6f, y[%d] = %.6f\n", len(y), y[0], last, y[last])
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
