// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func kvOptions() *ggufx.KVOptions {
	return &ggufx.KVOptions{NumLayers: 2, KVHeads: 2, QHeads: 4, HeadDimK: 32, TypeK: ggufx.TypeF32, TypeV: ggufx.TypeF32,
		Flags: ggufx.KVHasTypeK | ggufx.KVHasTypeV, Sequences: 3, MaxTokens: 256, RopeStyle: ggufx.RopeStyleInterleaved}
}

func filledKV(t testing.TB, rt *ggufx.Runtime, n int) *ggufx.KVCache {
	kv := must[*ggufx.KVCache](t)(rt.NewKVCache(kvOptions()))
	for layer := uint32(0); layer < 2; layer++ {
		ok(t, appendTo(kv, layer, 0, n, nil, numbers(n*64), numbers(n*64)))
	}
	return kv
}

func attended(t testing.TB, kv *ggufx.KVCache, sequence uint32) []float32 {
	out := make([]float32, 128)
	ok(t, attendTo(kv, out, nil, 0, sequence, numbers(128), 1, nil, nil))
	return out
}

func TestAttention(t *testing.T) {
	kv := filledKV(t, newRuntime(t), 5)
	q, k, out, lse := numbers(128), numbers(5*64), make([]float32, 128), make([]float32, 4)
	ok(t, attendTo(kv, out, lse, 0, 0, q, 1, nil, &ggufx.AttendOptions{Flags: ggufx.AttendAll}))
	for head := 0; head < 4; head++ {
		var weight [5]float64
		sum := 0.0
		for token := range weight {
			score := 0.0
			for i := 0; i < 32; i++ {
				score += float64(q[head*32+i]) * float64(k[token*64+head/2*32+i])
			}
			weight[token] = math.Exp(score / math.Sqrt(32))
			sum += weight[token]
		}
		check(t, math.Abs(math.Log(sum)-float64(lse[head])) < 1e-5)
		for i := 0; i < 32; i++ {
			mean := 0.0
			for token := range weight {
				mean += weight[token] / sum * float64(k[token*64+head/2*32+i])
			}
			check(t, math.Abs(mean-float64(out[head*32+i])) < 1e-5)
		}
	}
	scores := make([]float32, 20)
	ok(t, scoresOf(kv, scores, 0, 0, q, 1, 0))
	check(t, near([]float32{scores[0], scores[19]}, []float32{2.013767, 0.878741}, 1e-5), scores)
	ok(t, scoresOf(kv, scores, 0, 0, q, 1, 0.3))
	check(t, near([]float32{scores[0], scores[19]}, []float32{3.417476, 1.491272}, 1e-5), scores)
}

func TestSequences(t *testing.T) {
	rt := newRuntime(t)
	kv := filledKV(t, rt, 10)
	before := attended(t, kv, 0)
	ok(t, kv.Copy(0, 1, 0, 10))
	check(t, near(attended(t, kv, 1), before, 1e-30))
	two := make([]float32, 256)
	ok(t, attendBatch(kv, two, nil, 0, []uint32{0, 1}, append(numbers(128), numbers(128)...), nil, nil))
	check(t, near(two[:128], before, 1e-30) && near(two[128:], before, 1e-30))
	ok(t, kv.Remove(1, 2, 2))
	ok(t, kv.Shift(1, 2, 6, -2))
	at := must[[]int32](t)(kv.Positions(1, 0, 8))
	check(t, len(at) == 8 && at[7] == 7, at)
	ok(t, kv.Compact(1, nil))
	ok(t, kv.Truncate(1, 3))
	check(t, must[uint64](t)(kv.Length(1)) == 3)
	ok(t, appendTo(kv, 0, 2, 1, []int32{7}, numbers(64), numbers(64)))
	ok(t, kv.Rollback(2))
	ok(t, kv.Reserve(2, 64))
	ok(t, appendBatch(kv, 0, []uint32{0, 2}, []int32{10, 8}, numbers(128), numbers(128)))
	half, zero := make([]uint16, 64), make([]uint16, 64)
	for i := range half {
		half[i] = 0x3f80
	}
	ok(t, kv.Append(&ggufx.KVTokens{Layer: 1, Sequence: 2, Tokens: 1, Type: ggufx.TypeBF16, K: half, V: zero}))
	k, v := make([]float32, 64), numbers(64)
	ok(t, readFrom(kv, k, v, 1, 2, 0, 1))
	check(t, k[0] == 1 && k[63] == 1 && near(v, make([]float32, 64), 1e-30))
	ok(t, kv.Keep(0))
	ok(t, kv.Clear())
	check(t, must[ggufx.KVFacts](t)(kv.Info(ggufx.KVAllLayers)).Tokens == 0)
	check(t, must[uint64](t)(rt.KVEstimate(kvOptions(), 64)) > 64*64*4*2*2)
	o := kvOptions()
	o.Layers = []ggufx.KVLayerOptions{{TypeK: ggufx.TypeQ8_0}, {}}
	layered := must[*ggufx.KVCache](t)(rt.NewKVCache(o))
	check(t, must[ggufx.KVFacts](t)(layered.Info(0)).TypeK == ggufx.TypeQ8_0)
	o = kvOptions()
	o.TypeK, o.TypeV = ggufx.TypeGX4, ggufx.TypeGX4
	centred := must[*ggufx.KVCache](t)(rt.NewKVCache(o))
	ok(t, centred.Calibrate(0, make([]float32, 64), nil, nil))
	fails(t, centred.Calibrate(0, make([]float32, 64), numbers(32), nil), ggufx.StatusArgument)
}

type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestSnapshots(t *testing.T) {
	rt := newRuntime(t)
	kv, other := filledKV(t, rt, 70), filledKV(t, rt, 3)
	var data bytes.Buffer
	ok(t, kv.Save(0, &data))
	ok(t, other.Load(0, bytes.NewReader(data.Bytes())))
	check(t, near(attended(t, other, 0), attended(t, kv, 0), 1e-30))
	path := filepath.Join(t.TempDir(), "snapshot")
	ok(t, kv.SaveFile(ggufx.AllSequences, path))
	ok(t, other.LoadFile(ggufx.AllSequences, path))
	fails(t, other.LoadFile(0, "/nowhere/snapshot"), ggufx.StatusIO)
	err := other.Load(0, bytes.NewReader(data.Bytes()[:100]))
	fails(t, err, ggufx.StatusTruncated)
	check(t, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF))
	wrong := append([]byte{}, data.Bytes()...)
	wrong[len(wrong)-1] ^= 1
	fails(t, other.Load(0, bytes.NewReader(wrong)), ggufx.StatusChecksum)
	check(t, near(attended(t, other, 0), attended(t, kv, 0), 1e-30))
	mine := errors.New("mine")
	err = kv.Save(0, full{mine})
	fails(t, err, ggufx.StatusIO)
	check(t, errors.Is(err, mine))
}

func TestOtherTypesAndErrors(t *testing.T) {
	rt := newRuntime(t)
	kv := filledKV(t, rt, 80)
	before := must[ggufx.KVFacts](t)(kv.Info(0)).PageBytes
	done, cancel := context.WithCancel(context.Background())
	cancel()
	err := kv.Requantize(ggufx.KVAllLayers, ggufx.TypeQ8_0, ggufx.TypeKeep, &ggufx.Watch{Context: done})
	fails(t, err, ggufx.StatusCancelled)
	ok(t, kv.Requantize(ggufx.KVAllLayers, ggufx.TypeQ8_0, ggufx.TypeQ8_0, nil))
	check(t, must[ggufx.KVFacts](t)(kv.Info(0)).PageBytes < before)
	k, q, out := numbers(64), numbers(128), make([]float32, 128)
	fails(t, appendTo(kv, 0, 0, 1, []int32{80, 81}, k, k), ggufx.StatusArgument)
	fails(t, appendBatch(kv, 0, []uint32{0}, nil, k, k), ggufx.StatusArgument)
	fails(t, appendTo(kv, 0, 0, 2, nil, k, k), ggufx.StatusArgument)
	fails(t, attendTo(kv, out, make([]float32, 3), 0, 0, q, 1, nil, nil), ggufx.StatusArgument)
	fails(t, attendTo(kv, out, nil, 0, 0, q, 1, []int32{}, nil), ggufx.StatusArgument)
	slopes := &ggufx.AttendOptions{AlibiSlopes: numbers(3)}
	fails(t, attendTo(kv, out, nil, 0, 0, q, 1, nil, slopes), ggufx.StatusArgument)
	fails(t, appendTo(kv, 0, 0, 200, nil, numbers(200*64), numbers(200*64)), ggufx.StatusCapacity)
	watching := &ggufx.AttendOptions{Watch: ggufx.Watch{Context: done}}
	fails(t, attendTo(kv, out, nil, 0, 0, q, 1, nil, watching), ggufx.StatusCancelled)
	_, err = rt.NewKVCache(&ggufx.KVOptions{})
	fails(t, err, ggufx.StatusArgument)
	ok(t, kv.Close())
	_, err = kv.Length(0)
	fails(t, err, ggufx.StatusArgument)
}
