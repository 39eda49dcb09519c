// Open a file and list its tensors: name, type, values per row and rows.
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
	for i := 0; i < file.TensorCount(); i++ {
		info, err := file.TensorAt(i).Info()
		if err != nil {
			return err
		}
		fmt.Printf("%s %v %d x %d\n", info.Name, info.Type, info.Ne[0], info.Rows)
	}
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
