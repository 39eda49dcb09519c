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
