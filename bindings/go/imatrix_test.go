// SPDX-License-Identifier: MIT

package ggufx

import (
	"bytes"
	"context"
	"encoding/binary"
	"path/filepath"
	"testing"
)

// oldImatrix has two tensors of two and three columns, one call of 512 tokens, the text "text".
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

func TestImatrix(t *testing.T) {
	rt, path := newRuntime(t), filepath.Join(t.TempDir(), "imatrix.gguf")
	m := must[*Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))
	info := must[ImatrixInfo](t)(m.Info())
	check(t, info.Entries == 2 && info.Datasets == 1 && info.Format == ImatrixFormatDat, info)
	check(t, must[string](t)(m.Dataset(0)) == "text")
	first := must[*ImatrixEntry](t)(m.Find("a.weight"))
	check(t, first.Columns == 2 && first.Values[1] == 2*first.Values[0], first)
	ok(t, m.Merge(must[*Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))))
	merged := must[*ImatrixEntry](t)(m.At(0))
	check(t, merged.Counts[0] == 2*first.Counts[0])
	ok(t, m.Write(path, ImatrixFormatGguf, nil))
	again := must[*Imatrix](t)(rt.OpenImatrix(path, nil))
	check(t, must[*ImatrixEntry](t)(again.At(0)).Sums[1] == merged.Sums[1])
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := rt.OpenImatrix(path, &Watch{Context: stop})
	fails(t, err, StatusCancelled)
	ok(t, m.Select([]byte{0, 1}))
	check(t, must[*ImatrixEntry](t)(m.At(0)).Name == "b.weight")
	_, err = m.Find("a.weight")
	fails(t, err, StatusNotFound)
	fails(t, m.Select([]byte{1, 1}), StatusArgument)
	_, err = rt.OpenImatrix("/nowhere/x", nil)
	fails(t, err, StatusNotFound)
	_, err = rt.OpenImatrixMemory(oldImatrix(t)[:60])
	fails(t, err, StatusMalformed)
	fails(t, m.Write("/nowhere/x", ImatrixFormatDat, nil), StatusIO)
	ok(t, m.Close())
}
