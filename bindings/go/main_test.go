// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"errors"
	"math"
	"os"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// modelPath finds the demo model by a variable or in the tree, else it ends the test with a word.
func modelPath(t testing.TB) string {
	t.Helper()
	path := os.Getenv("GGUFX_TEST_MODEL")
	if path == "" {
		path = "../../tests/data/tiny-stories-Q8_0.gguf"
		if _, err := os.Stat(path); err != nil {
			t.Skip("GGUFX_TEST_MODEL names no model")
		}
	}
	return path
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fails(t testing.TB, err error, status ggufx.Status) *ggufx.Error {
	t.Helper()
	var e *ggufx.Error
	if !errors.Is(err, status) || !errors.As(err, &e) || e.Message == "" {
		t.Fatalf("%v, expected %v", err, status)
	}
	return e
}

func check(t testing.TB, condition bool, values ...any) {
	t.Helper()
	if !condition {
		t.Fatal(append([]any{"not so:"}, values...)...)
	}
}

// errMine is the error of a function of the program.
var errMine = errors.New("mine")

func newRuntime(t testing.TB) *ggufx.Runtime {
	return must[*ggufx.Runtime](t)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Threads: 2}))
}

func demo(t testing.TB, rt *ggufx.Runtime) *ggufx.File {
	return must[*ggufx.File](t)(rt.Open(modelPath(t), nil))
}

// numbers between -1 and 1, the same each time.
func numbers(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((i*7919+13)%2003)/1001 - 1
	}
	return x
}

func near(a, b []float32, limit float64) bool {
	for i := range a {
		if !(math.Abs(float64(a[i]-b[i])) < limit) {
			return false
		}
	}
	return len(a) == len(b)
}

// Calls whose structs are made of parameters.

func appendTo(kv *ggufx.KVCache, layer, sequence uint32, n int, positions []int32, k, v []float32) error {
	tokens := ggufx.KVTokens{Layer: layer, Sequence: sequence, Tokens: n, Positions: positions, K: k}
	if v != nil {
		tokens.V = v
	}
	return kv.Append(&tokens)
}

func appendBatch(kv *ggufx.KVCache, layer uint32, sequences []uint32, positions []int32, k, v []float32) error {
	return kv.Append(&ggufx.KVTokens{Layer: layer, Sequences: sequences, Tokens: len(sequences), Positions: positions, K: k, V: v})
}

func attendTo(kv *ggufx.KVCache, out, lse []float32, layer, sequence uint32, q []float32, n int, positions []int32,
	options *ggufx.AttendOptions) error {
	return kv.Attend(out, lse, &ggufx.KVQueries{Layer: layer, Sequence: sequence, Queries: n, Positions: positions, Q: q}, options)
}

func attendBatch(kv *ggufx.KVCache, out, lse []float32, layer uint32, sequences []uint32, q []float32, positions []int32,
	options *ggufx.AttendOptions) error {
	return kv.Attend(out, lse, &ggufx.KVQueries{Layer: layer, Sequences: sequences, Queries: len(sequences), Positions: positions, Q: q}, options)
}

func readFrom(kv *ggufx.KVCache, k, v []float32, layer, sequence uint32, first, n uint64) error {
	return kv.Read(k, v, &ggufx.KVRange{Layer: layer, Sequence: sequence, First: first, Tokens: n})
}

func scoresOf(kv *ggufx.KVCache, out []float32, layer, sequence uint32, q []float32, n int, scale float32) error {
	return kv.Scores(out, &ggufx.KVQueries{Layer: layer, Sequence: sequence, Queries: n, Q: q}, scale)
}

func quantizeTo(rt *ggufx.Runtime, out []byte, typ ggufx.TensorType, rows []float32, n, columns int, options *ggufx.QuantizeArgs) error {
	args := ggufx.QuantizeArgs{}
	if options != nil {
		args = *options
	}
	args.Type, args.Rows, args.NumRows, args.Cols = typ, rows, n, columns
	return rt.Quantize(out, &args)
}

func dequantizeTo(rt *ggufx.Runtime, out []float32, typ ggufx.TensorType, blocks []byte) error {
	tensor, err := rt.WrapTensor(typ, []uint64{uint64(len(out))}, 0, blocks, "")
	if err != nil {
		return err
	}
	defer tensor.Close()
	return rt.Dequantize(out, tensor, 0, 1)
}

func listsOf(texts ...[]int32) (lists []ggufx.TokenList) {
	for _, text := range texts {
		lists = append(lists, ggufx.TokenList{Tokens: text})
	}
	return lists
}
