// SPDX-License-Identifier: MIT

package ggufx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"
)

func kvOptions() *KVOptions {
	return &KVOptions{Layers: 2, KVHeads: 2, QHeads: 4, HeadDimK: 32, TypeK: KVF32, TypeV: KVF32,
		Sequences: 3, MaxTokens: 256, RopeStyle: RopeStylePairs}
}

func filledKV(t testing.TB, rt *Runtime, n int) *KV {
	kv := must[*KV](t)(rt.NewKV(kvOptions()))
	for layer := uint32(0); layer < 2; layer++ {
		ok(t, kv.Append(layer, 0, n, nil, numbers(n*64), numbers(n*64)))
	}
	return kv
}

func attended(t testing.TB, kv *KV, sequence uint32) []float32 {
	out := make([]float32, 128)
	ok(t, kv.Attend(out, nil, 0, sequence, numbers(128), 1, nil, nil))
	return out
}

func TestAttention(t *testing.T) {
	kv := filledKV(t, newRuntime(t), 5)
	q, k, out, lse := numbers(128), numbers(5*64), make([]float32, 128), make([]float32, 4)
	ok(t, kv.Attend(out, lse, 0, 0, q, 1, nil, &AttendOptions{Flags: AttendAll}))
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
	ok(t, kv.Scores(scores, 0, 0, q, 1, 0))
	check(t, near([]float32{scores[0], scores[19]}, []float32{2.013767, 0.878741}, 1e-5), scores)
	ok(t, kv.Scores(scores, 0, 0, q, 1, 0.3))
	check(t, near([]float32{scores[0], scores[19]}, []float32{3.417476, 1.491272}, 1e-5), scores)
}

func TestSequences(t *testing.T) {
	rt := newRuntime(t)
	kv := filledKV(t, rt, 10)
	before := attended(t, kv, 0)
	ok(t, kv.Copy(0, 1, 0, 10))
	check(t, near(attended(t, kv, 1), before, 1e-30))
	two := make([]float32, 256)
	ok(t, kv.AttendBatch(two, nil, 0, []uint32{0, 1}, append(numbers(128), numbers(128)...), nil, nil))
	check(t, near(two[:128], before, 1e-30) && near(two[128:], before, 1e-30))
	ok(t, kv.Remove(1, 2, 4))
	ok(t, kv.Shift(1, 4, 10, -2))
	at := make([]int32, 8)
	ok(t, kv.Positions(1, 0, at))
	check(t, at[7] == 7, at)
	ok(t, kv.Compact(1, nil))
	ok(t, kv.Truncate(1, 3))
	check(t, must[uint64](t)(kv.Length(1)) == 3)
	ok(t, kv.Append(0, 2, 1, []int32{7}, numbers(64), numbers(64)))
	ok(t, kv.Rollback(2))
	ok(t, kv.Reserve(2, 64))
	ok(t, kv.AppendBatch(0, []uint32{0, 2}, []int32{10, 8}, numbers(128), numbers(128)))
	half, zero := make([]uint16, 64), make([]uint16, 64)
	for i := range half {
		half[i] = 0x3f80
	}
	ok(t, kv.AppendHalf(1, 2, 1, nil, HalfFormatBf16, half, zero))
	k, v := make([]float32, 64), numbers(64)
	ok(t, kv.Read(k, v, 1, 2, 0, 1))
	check(t, k[0] == 1 && k[63] == 1 && near(v, make([]float32, 64), 1e-30))
	ok(t, kv.Keep(0))
	ok(t, kv.Clear())
	check(t, must[KVStats](t)(kv.Stats(KVAllLayers)).Tokens == 0)
	check(t, must[uint64](t)(rt.EstimateKV(kvOptions(), 64)) > 64*64*4*2*2)
	o := kvOptions()
	o.LayerOptions = []KVLayer{{TypeK: KVQ8_0}, {}}
	layered := must[*KV](t)(rt.NewKV(o))
	check(t, must[KVStats](t)(layered.Stats(0)).TypeK == KVQ8_0)
	o = kvOptions()
	o.TypeK, o.TypeV = KVGX4, KVGX4
	centred := must[*KV](t)(rt.NewKV(o))
	ok(t, centred.Calibrate(0, make([]float32, 64), nil, nil))
	fails(t, centred.Calibrate(0, make([]float32, 64), numbers(32), nil), StatusArgument)
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
	ok(t, kv.SavePath(KVAllSequences, path))
	ok(t, other.LoadPath(KVAllSequences, path))
	fails(t, other.LoadPath(0, "/nowhere/snapshot"), StatusIO)
	err := other.Load(0, bytes.NewReader(data.Bytes()[:100]))
	fails(t, err, StatusTruncated)
	check(t, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF))
	wrong := append([]byte{}, data.Bytes()...)
	wrong[len(wrong)-1] ^= 1
	fails(t, other.Load(0, bytes.NewReader(wrong)), StatusChecksum)
	check(t, near(attended(t, other, 0), attended(t, kv, 0), 1e-30))
	mine := errors.New("mine")
	err = kv.Save(0, full{mine})
	fails(t, err, StatusIO)
	check(t, errors.Is(err, mine))
}

func TestOtherTypesAndErrors(t *testing.T) {
	rt := newRuntime(t)
	kv := filledKV(t, rt, 80)
	before := must[KVStats](t)(kv.Stats(0)).PageBytes
	done, cancel := context.WithCancel(context.Background())
	cancel()
	err := kv.Requantize(KVAllLayers, KVQ8_0, KVKeepType, &Watch{Context: done})
	fails(t, err, StatusCancelled)
	ok(t, kv.Requantize(KVAllLayers, KVQ8_0, KVQ8_0, nil))
	check(t, must[KVStats](t)(kv.Stats(0)).PageBytes < before)
	k, q, out := numbers(64), numbers(128), make([]float32, 128)
	fails(t, kv.Append(0, 0, 1, []int32{80, 81}, k, k), StatusArgument)
	fails(t, kv.AppendBatch(0, []uint32{0}, nil, k, k), StatusArgument)
	fails(t, kv.Append(0, 0, 2, nil, k, k), StatusArgument)
	fails(t, kv.Attend(out, make([]float32, 3), 0, 0, q, 1, nil, nil), StatusArgument)
	fails(t, kv.Attend(out, nil, 0, 0, q, 1, []int32{}, nil), StatusArgument)
	slopes := &AttendOptions{AlibiSlopes: numbers(3)}
	fails(t, kv.Attend(out, nil, 0, 0, q, 1, nil, slopes), StatusArgument)
	fails(t, kv.Append(0, 0, 200, nil, numbers(200*64), numbers(200*64)), StatusCapacity)
	watching := &AttendOptions{Watch: Watch{Context: done}}
	fails(t, kv.Attend(out, nil, 0, 0, q, 1, nil, watching), StatusCancelled)
	_, err = rt.NewKV(&KVOptions{})
	fails(t, err, StatusArgument)
	ok(t, kv.Close())
	_, err = kv.Length(0)
	fails(t, err, StatusArgument)
}
