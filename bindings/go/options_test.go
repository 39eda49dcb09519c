// SPDX-License-Identifier: MIT

package ggufx

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"
)

// What each field of the options does, so that none is forgotten or lands in another one's place.

func TestAttendOptions(t *testing.T) {
	kv, out := filledKV(t, newRuntime(t), 5), make([]float32, 128)
	for _, c := range []struct { // by the formulas of kv.h, in double
		o           AttendOptions
		first, last float64
	}{
		{AttendOptions{}, -0.907634, -0.748555},
		{AttendOptions{Scale: 0.3}, -0.926654, -0.763931},
		{AttendOptions{Softcap: 0.5}, -0.874823, -0.724180},
		{AttendOptions{Window: 2}, -0.795041, -0.638277},
		{AttendOptions{Window: 2, WindowKind: WindowKindChunked}, float64(numbers(320)[256]), float64(numbers(320)[319])},
		{AttendOptions{AlibiSlopes: []float32{0.1, 0.2, 0.3, 0.4}}, -0.897601, -0.703808},
		{AttendOptions{SinkLogits: []float32{0.5, 1, 1.5, 2}}, -0.845248, -0.536932},
	} {
		o := c.o
		ok(t, kv.Attend(out, nil, 0, 0, numbers(128), 1, nil, &o))
		check(t, near([]float32{out[0], out[127]}, []float32{float32(c.first), float32(c.last)}, 1e-5), o, out[0], out[127])
	}
}

func TestKVOptions(t *testing.T) {
	rt, out, k := newRuntime(t), make([]float32, 128), make([]float32, 64)
	kvOf := func(change func(o *KVOptions)) *KV {
		o := kvOptions()
		change(o)
		return must[*KV](t)(rt.NewKV(o))
	}
	table := []float64{0.5, 0.158113883, 0.05, 0.0158113883} // the same
	for _, turned := range []*KV{
		kvOf(func(o *KVOptions) { o.RopeDims, o.RopeBase, o.RopeScale = 8, 100, 0.5 }),
		kvOf(func(o *KVOptions) { o.RopeDims, o.RopeFrequencies = 8, table }),
	} {
		for layer := uint32(0); layer < 2; layer++ {
			ok(t, turned.Append(layer, 0, 1, nil, numbers(64), numbers(64)))
		}
		ok(t, turned.Shift(0, 0, 1, 1))
		ok(t, turned.Read(k, nil, 0, 0, 0, 1))
		check(t, near(k[:4], []float32{-1.307774, 0.335124, 0.702069, 0.856494}, 1e-5), k[:4])
		check(t, near(k[8:32], numbers(64)[8:32], 1e-30), k[8:32])
	}
	for n, token := range map[uint32]int{8: 6, KVNoSinks: 2} { // those stay F16
		sinks := kvOf(func(o *KVOptions) { o.TypeK, o.TypeV, o.Sinks = KVQ8_0, KVQ8_0, n })
		ok(t, sinks.Append(0, 0, 128, nil, numbers(128*64), numbers(128*64)))
		ok(t, sinks.Read(k, nil, 0, 0, uint64(token), 1))
		check(t, near(k, numbers(7 * 64)[token*64:][:64], 6e-4) == (n == 8), n)
	}
	narrow := kvOf(func(o *KVOptions) { o.LayerOptions = []KVLayer{{TypeK: KVF32, TypeV: KVF32, Window: 2}, {}} })
	ok(t, narrow.Append(0, 0, 5, nil, numbers(320), numbers(320)))
	check(t, math.Abs(float64(attended(t, narrow, 0)[0])+0.795041) < 1e-5)
	chunks := KVLayer{TypeK: KVF32, TypeV: KVF32, Window: 2, WindowKind: WindowKindChunked}
	chunked := kvOf(func(o *KVOptions) { o.LayerOptions = []KVLayer{chunks, {}} })
	ok(t, chunked.Append(0, 0, 5, nil, numbers(320), numbers(320)))
	check(t, near(attended(t, chunked, 0)[:1], numbers(320)[256:257], 1e-5)) // the token itself alone
	slim := kvOf(func(o *KVOptions) { o.HeadDimV = 16 })
	ok(t, slim.Append(0, 0, 1, nil, numbers(64), numbers(32)))
	ok(t, slim.Attend(out[:64], nil, 0, 0, numbers(128), 1, nil, nil))
	shared := kvOf(func(o *KVOptions) { o.Flags, o.HeadDimV = KVVInK, 16 })
	ok(t, shared.Append(0, 0, 1, nil, numbers(64), nil))
	var data bytes.Buffer
	ok(t, kvOf(func(o *KVOptions) { o.Model = 7 }).Save(0, &data))
	fails(t, kvOf(func(o *KVOptions) { o.Model = 8 }).Load(0, &data), StatusMismatch)
}

func TestSessionOptions(t *testing.T) {
	rt := newRuntime(t)
	model := must[*Model](t)(rt.NewModel(demo(t, rt)))
	seen := map[float32]int{}
	for i, o := range []SessionOptions{{}, {TypeK: KVF32}, {TypeV: KVF32}, {TypeK: KVF32, TypeV: KVF32},
		{MatmulFlags: MatmulF32}} {
		o := o
		session, logits := must[*Session](t)(model.NewSession(&o)), make([]float32, 1024)
		ok(t, session.Decode([]int32{1, 300, 301, 302}, nil))
		ok(t, session.Logits(logits))
		seen[logits[5]] = i
	}
	check(t, len(seen) == 5, seen)
	_, err := model.NewSession(&SessionOptions{Checkpoints: 4097})
	fails(t, err, StatusArgument)
	ok(t, must[*Session](t)(model.NewSession(&SessionOptions{Checkpoints: SessionNoCheckpoints})).Close())
	_, err = rt.Estimate(demo(t, rt), &EstimateOptions{Checkpoints: 4097})
	fails(t, err, StatusArgument)
	session, calls := must[*Session](t)(model.NewSession(&SessionOptions{Batch: 2})), 0
	ok(t, session.Decode([]int32{1, 300, 301, 302}, &DecodeOptions{Attention: func(a *AttentionView) bool {
		calls++
		return a.Tokens == 2 && a.FirstToken == uint64(2*((calls-1)/4))
	}}))
	check(t, calls == 8, calls)
}

func TestSamplerOptions(t *testing.T) {
	rt, logits := newRuntime(t), []float32{0, 1, 2, 3}
	draws := func(o SamplerOptions) (ids [30]int32) {
		o.Temperature = 100
		sampler := must[*Sampler](t)(rt.NewSampler(4, &o))
		for i := range ids {
			ids[i], _, _ = sampler.Sample(logits)
		}
		return ids
	}
	var last [30]int32
	for i := range last {
		last[i] = 3
	}
	for _, o := range []SamplerOptions{{TopK: 1}, {TopP: 0.01}, {MinP: 0.9}} {
		check(t, draws(o) == last, o)
	}
	two := draws(SamplerOptions{MinP: 0.2}) // of the likeliest one's: what top-p of 0.2 would drop
	check(t, two != last && draws(SamplerOptions{TopP: 0.2}) == last, two)
	check(t, draws(SamplerOptions{Seed: 1}) != draws(SamplerOptions{Seed: 2}))
	check(t, draws(SamplerOptions{Seed: 1}) == draws(SamplerOptions{Seed: 1}))
}

func TestQuantizerOptions(t *testing.T) {
	rt := newRuntime(t)
	f, recipe := demo(t, rt), must[FileType](t)(FileTypeFromName("q4_0"))
	planned := func(o QuantizerOptions) *Quantizer {
		o.Flags |= JobAllowRequantize
		return must[*Quantizer](t)(rt.NewQuantizer(f, recipe, &o))
	}
	embedding := func(q *Quantizer) TensorType {
		for _, p := range must[[]PlannedTensor](t)(q.Tensors()) {
			if p.Name == "token_embd.weight" {
				return p.To
			}
		}
		return TypeF64
	}
	q := planned(QuantizerOptions{Flags: JobEmbeddingType, EmbeddingType: TypeQ5_0, OutputType: TypeQ5_1})
	check(t, embedding(q) == TypeQ5_0)
	q = planned(QuantizerOptions{Flags: JobOutputType, EmbeddingType: TypeQ5_0, OutputType: TypeQ5_1})
	check(t, embedding(q) == TypeQ5_1) // it is the output, too
	bytesOf := func(q *Quantizer) uint64 { return must[QuantizerInfo](t)(q.Info()).FileBytes }
	more := bytesOf(planned(QuantizerOptions{ReserveBytes: 65536})) - bytesOf(planned(QuantizerOptions{}))
	check(t, more >= 65536 && more < 65536+200, more)
	path := filepath.Join(t.TempDir(), "q.gguf")
	q = planned(QuantizerOptions{ImatrixName: "calibration.dat",
		Imatrix: must[*Imatrix](t)(rt.OpenImatrixMemory(oldImatrix(t)))})
	check(t, must[QuantizerInfo](t)(q.Info()).MissingFromImatrix > 0)
	ok(t, q.Run(path, nil))
	key := must[*Meta](t)(must[*File](t)(rt.Open(path, nil)).Meta("quantize.imatrix.file"))
	check(t, must[string](t)(key.Text()) == "calibration.dat")
}

func TestFileAndRuntimeOptions(t *testing.T) {
	rt := must[*Runtime](t)(NewRuntime(&RuntimeOptions{Threads: 3}))
	check(t, must[RuntimeInfo](t)(rt.Info()).Threads == 3)
	_, err := rt.Open(modelPath(t), &OpenOptions{MaxMetadataBytes: 1000})
	fails(t, err, StatusLimit)
	w := copyOf(t, rt, demo(t, rt), &WriterOptions{Version: 2})
	info := func(o WriteOptions) WriterInfo { return must[WriterInfo](t)(w.Info(&o)) }
	check(t, info(WriteOptions{}).Parts == 1)
	check(t, info(WriteOptions{MaxPartTensors: 2}).Parts == 19)
	check(t, info(WriteOptions{MaxPartBytes: 1 << 20}).Parts > 2)
	var data bytes.Buffer
	ok(t, w.WriteStream(func(_ int, p []byte) error { data.Write(p); return nil }, nil))
	check(t, data.Bytes()[4] == 2 && must[FileInfo](t)(must[*File](t)(rt.OpenMemory(data.Bytes(), nil)).Info()).Version == 2)
}

func TestOpenLimits(t *testing.T) {
	rt := newRuntime(t)
	for _, o := range []OpenOptions{{MaxMetadataBytes: 1000}, {MaxKeys: 32}, {MaxTensors: 37}, {MaxStringBytes: 10}} {
		o := o
		_, err := rt.Open(modelPath(t), &o)
		fails(t, err, StatusLimit)
	}
	o := OpenOptions{MaxKeys: 33, MaxTensors: 38, MaxStringBytes: 4096}
	check(t, must[*File](t)(rt.Open(modelPath(t), &o)).TensorCount() == 38)
}
