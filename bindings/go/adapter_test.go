// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const (
	target = "blk.0.attn_q.weight"
	width  = 256 // n_embedding of the demo model
)

// madeFile creates a file with text keys and tensors [width, rows] of reproducible values.
func madeFile(t testing.TB, rt *ggufx.Runtime, keys map[string]string, tensors map[string][]uint64) *ggufx.File {
	w := must[*ggufx.Writer](t)(rt.NewWriter(nil))
	for key, value := range keys {
		ok(t, w.SetString(key, value))
	}
	for name, shape := range tensors {
		n := uint64(1)
		for _, extent := range shape {
			n *= extent
		}
		values := numbers(int(n))
		data := unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 4*n)
		ok(t, w.AddTensor(must[*ggufx.Tensor](t)(rt.WrapTensor(ggufx.TypeF32, shape, 0, data, name)), ""))
	}
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	ok(t, w.Write(path, nil))
	return must[*ggufx.File](t)(rt.Open(path, nil))
}

func loraAdapter(t testing.TB, rt *ggufx.Runtime) *ggufx.File {
	keys := map[string]string{"general.architecture": "llama", "general.type": "adapter",
		"adapter.type": "lora"}
	return madeFile(t, rt, keys, map[string][]uint64{target + ".lora_a": {width, 2},
		target + ".lora_b": {2, width}})
}

func controlVector(t testing.TB, rt *ggufx.Runtime) *ggufx.File {
	return madeFile(t, rt, map[string]string{"general.architecture": "controlvector"},
		map[string][]uint64{"direction.1": {width}, "direction.2": {width}})
}

func TestSequencesHaveTheirOwnAdapters(t *testing.T) {
	rt := newRuntime(t)
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil))
	lora := must[*ggufx.Adapter](t)(model.NewAdapter(loraAdapter(t, rt), nil))
	control := must[*ggufx.Adapter](t)(model.NewAdapter(controlVector(t, rt), &ggufx.AdapterOptions{LastLayer: 1}))
	info := must[ggufx.AdapterFacts](t)(lora.Info())
	check(t, info.Kind == ggufx.AdapterKindLora && info.Targets == 1 && info.Rank == 2, info)
	info = must[ggufx.AdapterFacts](t)(control.Info())
	check(t, info.Kind == ggufx.AdapterKindControl && info.Targets == 1 && info.Rank == 0, info)
	o := sequenceOptions()
	o.Sequences = 4
	s := must[*ggufx.Session](t)(model.NewSession(o))
	ok(t, s.SetAdapters(1, []ggufx.AdapterUse{{lora, 1}}))
	ok(t, s.SetAdapters(2, []ggufx.AdapterUse{{lora, 0.5}, {control, 1}}))
	rows := decoded(t, s, lastOf(0, tokensA), lastOf(1, tokensA),
		lastOf(2, tokensA))
	plain, own, both := rows[:row], rows[row:2*row], rows[2*row:]
	check(t, !equal(plain, own) && !equal(own, both) && !equal(plain, both))
	check(t, fails(t, s.SetAdapters(1, nil), ggufx.StatusState).Index == 1)
	fails(t, s.SetAdapters(ggufx.AllSequences, nil), ggufx.StatusState)
	fails(t, s.Copy(1, 3, 2), ggufx.StatusMismatch)
	ok(t, s.SetAdapters(3, []ggufx.AdapterUse{{lora, 1}}))
	ok(t, s.Copy(1, 3, 4))
	ok(t, lora.Close())
	ok(t, s.Truncate(1, 0))
	check(t, equal(decoded(t, s, lastOf(1, tokensA)), own))
	err := s.SetAdapters(0, []ggufx.AdapterUse{{control, 1}, {lora, 1}})
	check(t, errors.Is(err, os.ErrClosed), err)
	fails(t, s.SetAdapters(0, []ggufx.AdapterUse{{nil, 1}}), ggufx.StatusArgument)
	other := must[*ggufx.Session](t)(must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil)).NewSession(nil))
	fails(t, other.SetAdapters(0, []ggufx.AdapterUse{{control, 1}}), ggufx.StatusMismatch)
}

func TestAdaptersOfEmbeddersRowsAndEstimates(t *testing.T) {
	rt := newRuntime(t)
	f, file := demo(t, rt), loraAdapter(t, rt)
	model := must[*ggufx.Model](t)(rt.NewModel(f, nil))
	lora := must[*ggufx.Adapter](t)(model.NewAdapter(file, nil))
	em := must[*ggufx.Embedder](t)(model.NewEmbedder(&ggufx.EmbedOptions{Context: 8}))
	text := [][]int32{tokensA}
	plain := must[[]float32](t)(em.EmbedTexts(text, nil))
	ok(t, em.SetAdapters([]ggufx.AdapterUse{{lora, 1}}))
	check(t, !equal(must[[]float32](t)(em.EmbedTexts(text, nil)), plain))
	ok(t, em.SetAdapters(nil))
	check(t, equal(must[[]float32](t)(em.EmbedTexts(text, nil)), plain))
	number := 0
	for must[ggufx.TensorFacts](t)(f.TensorAt(number).Info()).Name != target {
		number++
	}
	check(t, lora.HasTensor(number) && !lora.HasTensor(number+1))
	rows := make([]float32, 2*width)
	ok(t, lora.AddRows(rows, number, 5, 2, 0.5))
	a, b := numbers(2*width), numbers(2*width)
	wanted := make([]float32, 2*width)
	for i := range wanted {
		r, c := 5+i/width, i%width
		wanted[i] = 0.5 * (b[2*r]*a[c] + b[2*r+1]*a[width+c])
	}
	check(t, near(rows, wanted, 1e-6), rows[:4], wanted[:4])
	fails(t, lora.AddRows(rows, number, width-1, 2, 1), ggufx.StatusArgument)
	without := must[ggufx.EstimateFacts](t)(rt.Estimate(f, nil))
	with := must[ggufx.EstimateFacts](t)(rt.Estimate(f, &ggufx.EstimateOptions{Adapters: []*ggufx.File{file}}))
	info := must[ggufx.AdapterFacts](t)(lora.Info())
	check(t, with.AdapterBytes > info.MemoryBytes && with.TotalBytes == without.TotalBytes+with.AdapterBytes+with.AdapterFileBytes, with)
	ok(t, file.Close())
	_, err := rt.Estimate(f, &ggufx.EstimateOptions{Adapters: []*ggufx.File{f, file}})
	check(t, errors.Is(err, os.ErrClosed), err)
}
