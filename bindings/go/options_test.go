// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

// Tests each field of the options, so that none is missing or mapped to another one.

func TestAttendOptions(t *testing.T) {
	kv, out := filledKV(t, newRuntime(t), 5), make([]float32, 128)
	for _, c := range []struct { // by the formulas of kv.h, in double
		o           ggufx.AttendOptions
		first, last float64
	}{
		{ggufx.AttendOptions{}, -0.907634, -0.748555},
		{ggufx.AttendOptions{Scale: 0.3}, -0.926654, -0.763931},
		{ggufx.AttendOptions{Softcap: 0.5}, -0.874823, -0.724180},
		{ggufx.AttendOptions{Window: 2}, -0.795041, -0.638277},
		{ggufx.AttendOptions{Window: 2, WindowKind: ggufx.WindowKindChunked}, float64(numbers(320)[256]), float64(numbers(320)[319])},
		{ggufx.AttendOptions{AlibiSlopes: []float32{0.1, 0.2, 0.3, 0.4}}, -0.897601, -0.703808},
		{ggufx.AttendOptions{SinkLogits: []float32{0.5, 1, 1.5, 2}}, -0.845248, -0.536932},
	} {
		o := c.o
		ok(t, attendTo(kv, out, nil, 0, 0, numbers(128), 1, nil, &o))
		check(t, near([]float32{out[0], out[127]}, []float32{float32(c.first), float32(c.last)}, 1e-5), o, out[0], out[127])
	}
}

func TestKVOptions(t *testing.T) {
	rt, out, k := newRuntime(t), make([]float32, 128), make([]float32, 64)
	kvOf := func(change func(o *ggufx.KVOptions)) *ggufx.KVCache {
		o := kvOptions()
		change(o)
		return must[*ggufx.KVCache](t)(rt.NewKVCache(o))
	}
	table := []float64{0.5, 0.158113883, 0.05, 0.0158113883} // the same
	for _, turned := range []*ggufx.KVCache{
		kvOf(func(o *ggufx.KVOptions) { o.RopeDims, o.RopeBase, o.RopeScale = 8, 100, 0.5 }),
		kvOf(func(o *ggufx.KVOptions) { o.RopeDims, o.RopeFrequencies = 8, table }),
	} {
		for layer := uint32(0); layer < 2; layer++ {
			ok(t, appendTo(turned, layer, 0, 1, nil, numbers(64), numbers(64)))
		}
		ok(t, turned.Shift(0, 0, 1, 1))
		ok(t, readFrom(turned, k, nil, 0, 0, 0, 1))
		check(t, near(k[:4], []float32{-1.307774, 0.335124, 0.702069, 0.856494}, 1e-5), k[:4])
		check(t, near(k[8:32], numbers(64)[8:32], 1e-30), k[8:32])
	}
	for n, token := range map[uint32]int{8: 6, ggufx.KVNoSinkTokens: 2} { // those stay F16
		sinks := kvOf(func(o *ggufx.KVOptions) { o.TypeK, o.TypeV, o.SinkTokens = ggufx.TypeQ8_0, ggufx.TypeQ8_0, n })
		ok(t, appendTo(sinks, 0, 0, 128, nil, numbers(128*64), numbers(128*64)))
		ok(t, readFrom(sinks, k, nil, 0, 0, uint64(token), 1))
		check(t, near(k, numbers(7 * 64)[token*64:][:64], 6e-4) == (n == 8), n)
	}
	own := ggufx.KVHasTypeK | ggufx.KVHasTypeV // of F32, which is 0
	narrow := kvOf(func(o *ggufx.KVOptions) {
		o.Layers = []ggufx.KVLayerOptions{{Flags: own, TypeK: ggufx.TypeF32, TypeV: ggufx.TypeF32, Window: 2}, {}}
	})
	ok(t, appendTo(narrow, 0, 0, 5, nil, numbers(320), numbers(320)))
	check(t, math.Abs(float64(attended(t, narrow, 0)[0])+0.795041) < 1e-5)
	chunks := ggufx.KVLayerOptions{Flags: own, TypeK: ggufx.TypeF32, TypeV: ggufx.TypeF32, Window: 2, WindowKind: ggufx.WindowKindChunked}
	chunked := kvOf(func(o *ggufx.KVOptions) { o.Layers = []ggufx.KVLayerOptions{chunks, {}} })
	ok(t, appendTo(chunked, 0, 0, 5, nil, numbers(320), numbers(320)))
	check(t, near(attended(t, chunked, 0)[:1], numbers(320)[256:257], 1e-5)) // only the token
	slim := kvOf(func(o *ggufx.KVOptions) { o.HeadDimV = 16 })
	ok(t, appendTo(slim, 0, 0, 1, nil, numbers(64), numbers(32)))
	ok(t, attendTo(slim, out[:64], nil, 0, 0, numbers(128), 1, nil, nil))
	shared := kvOf(func(o *ggufx.KVOptions) { o.Flags, o.HeadDimV = o.Flags|ggufx.KVVInK, 16 })
	ok(t, appendTo(shared, 0, 0, 1, nil, numbers(64), nil))
	var data bytes.Buffer
	ok(t, kvOf(func(o *ggufx.KVOptions) { o.Model = 7 }).Save(0, &data))
	fails(t, kvOf(func(o *ggufx.KVOptions) { o.Model = 8 }).Load(0, &data), ggufx.StatusMismatch)
}

func TestSessionOptions(t *testing.T) {
	rt := newRuntime(t)
	model := must[*ggufx.Model](t)(rt.NewModel(demo(t, rt), nil))
	seen := map[float32]int{}
	k, v := ggufx.SessionHasTypeK, ggufx.SessionHasTypeV // F32 is 0
	for i, o := range []ggufx.SessionOptions{{}, {Flags: k}, {Flags: v}, {Flags: k | v, TypeK: ggufx.TypeF32, TypeV: ggufx.TypeF32},
		{MatmulFlags: ggufx.MatmulF32}} {
		o := o
		session := must[*ggufx.Session](t)(model.NewSession(&o))
		seen[decoded(t, session, lastOf(0, []int32{1, 300, 301, 302}))[5]] = i
	}
	check(t, len(seen) == 5, seen)
	_, err := model.NewSession(&ggufx.SessionOptions{Checkpoints: 4097})
	fails(t, err, ggufx.StatusArgument)
	ok(t, must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Checkpoints: ggufx.SessionNoCheckpoints})).Close())
	_, err = rt.Estimate(demo(t, rt), &ggufx.EstimateOptions{Checkpoints: 4097})
	fails(t, err, ggufx.StatusArgument)
	session, calls := must[*ggufx.Session](t)(model.NewSession(&ggufx.SessionOptions{Batch: 2})), 0
	look := &ggufx.DecodeOptions{Attention: func(a ggufx.AttentionView) error {
		calls++
		check(t, a.Tokens == 2 && a.FirstToken == uint64(2*((calls-1)/4)))
		return nil
	}}
	must[[]float32](t)(session.Decode([]ggufx.DecodeItem{lastOf(0, []int32{1, 300, 301, 302})}, nil, look))
	check(t, calls == 8, calls)
}

func TestQuantizerOptions(t *testing.T) {
	rt := newRuntime(t)
	f, recipe := demo(t, rt), must[uint32](t)(ggufx.FileTypeFind("q4_0"))
	planned := func(o ggufx.QuantizerOptions) *ggufx.Quantizer {
		o.Flags |= ggufx.QuantizerAllowRequantize
		return must[*ggufx.Quantizer](t)(rt.NewQuantizer(f, recipe, &o))
	}
	embedding := func(q *ggufx.Quantizer) ggufx.TensorType {
		for _, p := range tensorsOf(t, q) {
			if p.Name == "token_embd.weight" {
				return p.To
			}
		}
		return ggufx.TypeF64
	}
	q := planned(ggufx.QuantizerOptions{Flags: ggufx.QuantizerEmbeddingType, EmbeddingType: ggufx.TypeQ5_0, OutputType: ggufx.TypeQ5_1})
	check(t, embedding(q) == ggufx.TypeQ5_0)
	q = planned(ggufx.QuantizerOptions{Flags: ggufx.QuantizerOutputType, EmbeddingType: ggufx.TypeQ5_0, OutputType: ggufx.TypeQ5_1})
	check(t, embedding(q) == ggufx.TypeQ5_1) // it is the output, too
	bytesOf := func(q *ggufx.Quantizer) uint64 { return must[ggufx.QuantizerFacts](t)(q.Info()).FileBytes }
	more := bytesOf(planned(ggufx.QuantizerOptions{ReserveBytes: 65536})) - bytesOf(planned(ggufx.QuantizerOptions{}))
	check(t, more >= 65536 && more < 65536+200, more)
	path := filepath.Join(t.TempDir(), "q.gguf")
	q = planned(ggufx.QuantizerOptions{ImatrixName: "calibration.dat",
		Imatrix: must[*ggufx.Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))})
	check(t, must[ggufx.QuantizerFacts](t)(q.Info()).Missing > 0)
	ok(t, q.Run(path, nil))
	f = must[*ggufx.File](t)(rt.Open(path, nil))
	check(t, must[string](t)(f.MetaString(must[int](t)(f.MetaFind("quantize.imatrix.file")))) == "calibration.dat")
}

func TestFileAndRuntimeOptions(t *testing.T) {
	rt := must[*ggufx.Runtime](t)(ggufx.NewRuntime(&ggufx.RuntimeOptions{Threads: 3}))
	check(t, must[ggufx.RuntimeFacts](t)(rt.Info()).Threads == 3)
	_, err := rt.Open(modelPath(t), &ggufx.OpenOptions{MaxMetadataBytes: 1000})
	fails(t, err, ggufx.StatusLimit)
	w := copyOf(t, rt, demo(t, rt), &ggufx.WriterOptions{Version: 2})
	info := func(o ggufx.WriteOptions) ggufx.WriterFacts { return must[ggufx.WriterFacts](t)(w.Info(&o)) }
	check(t, info(ggufx.WriteOptions{}).Parts == 1)
	check(t, info(ggufx.WriteOptions{MaxPartTensors: 2}).Parts == 19)
	check(t, info(ggufx.WriteOptions{MaxPartBytes: 1 << 20}).Parts > 2)
	var data bytes.Buffer
	ok(t, w.WriteStream(func(_ uint32, p []byte) error { data.Write(p); return nil }, nil))
	check(t, data.Bytes()[4] == 2 && must[ggufx.FileFacts](t)(must[*ggufx.File](t)(rt.OpenMemory(data.Bytes(), nil)).Info()).Version == 2)
}
