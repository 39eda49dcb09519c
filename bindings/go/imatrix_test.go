// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"path/filepath"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// oldImatrix has two tensors of two and three columns, one call of 512 tokens, data set "text".
func oldImatrix(t testing.TB) []byte {
	var out bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			ok(t, binary.Write(&out, binary.LittleEndian, v))
		}
	}
	put(int32(2), int32(8), []byte("a.weight"), int32(1), int32(2), []float32{512, 1024})
	put(int32(8), []byte("b.weight"), int32(1), int32(3), []float32{1, 2, 3})
	put(int32(1), int32(4), []byte("text"))
	return out.Bytes()
}

func entryOf(t testing.TB, m *ggufx.Imatrix, name string) ggufx.ImatrixEntry {
	return must[ggufx.ImatrixEntry](t)(m.EntryAt(must[int](t)(m.Find(name))))
}

func TestImatrix(t *testing.T) {
	rt, path := newRuntime(t), filepath.Join(t.TempDir(), "imatrix.gguf")
	m := must[*ggufx.Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))
	info := must[ggufx.ImatrixFacts](t)(m.Info())
	check(t, info.Entries == 2 && info.Datasets == 1 && info.Format == ggufx.ImatrixFormatDat, info)
	check(t, must[string](t)(m.DatasetAt(0)) == "text")
	first := entryOf(t, m, "a.weight")
	check(t, first.Columns == 2 && first.Values[1] == 2*first.Values[0], first)
	ok(t, m.Merge(must[*ggufx.Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))))
	merged := must[ggufx.ImatrixEntry](t)(m.EntryAt(0))
	check(t, merged.Counts[0] == 2*first.Counts[0])
	ok(t, m.Write(path, ggufx.ImatrixFormatGguf, nil))
	again := must[*ggufx.Imatrix](t)(rt.OpenImatrix(path, nil))
	check(t, must[ggufx.ImatrixEntry](t)(again.EntryAt(0)).Sums[1] == merged.Sums[1])
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := rt.OpenImatrix(path, &ggufx.Watch{Context: stop})
	fails(t, err, ggufx.StatusCancelled)
	ok(t, m.KeepEntries([]byte{0, 1}))
	check(t, must[ggufx.ImatrixEntry](t)(m.EntryAt(0)).Name == "b.weight")
	_, err = m.Find("a.weight")
	fails(t, err, ggufx.StatusNotFound)
	fails(t, m.KeepEntries([]byte{1, 1}), ggufx.StatusArgument)
	_, err = rt.OpenImatrix("/nowhere/x", nil)
	fails(t, err, ggufx.StatusNotFound)
	_, err = rt.OpenImatrixMemory(oldImatrix(t)[:60])
	fails(t, err, ggufx.StatusMalformed)
	fails(t, m.Write("/nowhere/x", ggufx.ImatrixFormatDat, nil), ggufx.StatusIO)
	ok(t, m.Close())
}
