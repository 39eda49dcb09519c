// A KV cache of 4 bits a value: append 300 tokens, attend over them with one query.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"log"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const tokens, kvHeads, qHeads, dim = 300, 2, 4, 64

func numbers(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32((i*7919+13)%2003)/1001 - 1
	}
	return out
}

func run() error {
	rt, err := ggufx.NewRuntime(nil)
	if err != nil {
		return err
	}
	defer rt.Close()
	kv, err := rt.NewKVCache(&ggufx.KVOptions{NumLayers: 1, KVHeads: kvHeads, QHeads: qHeads,
		HeadDimK: dim, TypeK: ggufx.TypeGX4, TypeV: ggufx.TypeGX4})
	if err != nil {
		return err
	}
	defer kv.Close()
	k := numbers(tokens * kvHeads * dim)
	if err := kv.Append(&ggufx.KVTokens{Tokens: tokens, K: k, V: k}); err != nil {
		return err
	}
	out := make([]float32, qHeads*dim)
	if err := kv.Attend(out, nil, &ggufx.KVQueries{Queries: 1, Q: numbers(qHeads * dim)}, nil); err != nil {
		return err
	}
	fmt.Printf("%d tokens, out[0] = %.6f, out[255] = %.6f\n", tokens, out[0], out[255])
	return nil
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
