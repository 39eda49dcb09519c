// Dequantizes the rows of a tensor to f32, quantizes them to Q4_K and back; prints sizes and
// errors.
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
	tensor, err := file.Tensor("token_embd.weight")
	if err != nil {
		return err
	}
	info, err := tensor.Info()
	if err != nil {
		return err
	}
	rowBytes, err := ggufx.TypeRowBytes(ggufx.TypeQ4_K, info.Ne[0])
	if err != nil {
		return err
	}
	before, after := make([]float32, info.Rows*info.Ne[0]), make([]float32, info.Rows*info.Ne[0])
	blocks := make([]byte, info.Rows*rowBytes)
	if err := rt.Dequantize(before, tensor, 0, info.Rows); err != nil {
		return err
	}
	if err := rt.Quantize(blocks, &ggufx.QuantizeArgs{Type: ggufx.TypeQ4_K, Rows: before, NumRows: int(info.Rows), Cols: int(info.Ne[0])}); err != nil {
		return err
	}
	smaller, err := rt.WrapTensor(ggufx.TypeQ4_K, info.Ne[:2], 0, blocks, "")
	if err != nil {
		return err
	}
	defer smaller.Close()
	if err := rt.Dequantize(after, smaller, 0, info.Rows); err != nil {
		return err
	}
	sum := 0.0
	for i := range after {
		d := float64(after[i]) - float64(before[i])
		sum += d * d
	}
	fmt.Printf("%d bytes, as q4_K %d, squared error %.6f\n", info.Bytes, len(blocks), sum)
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
