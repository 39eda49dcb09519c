// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func tensorsOf(t testing.TB, q *ggufx.Quantizer) []ggufx.QuantizerTensorFacts {
	all := make([]ggufx.QuantizerTensorFacts, must[ggufx.QuantizerFacts](t)(q.Info()).Tensors)
	for i := range all {
		all[i] = must[ggufx.QuantizerTensorFacts](t)(q.TensorAt(i))
	}
	return all
}

func plan(t testing.TB) *ggufx.Quantizer {
	rt := newRuntime(t)
	mix := must[uint32](t)(ggufx.FileTypeFind("q4_0"))
	q := must[*ggufx.Quantizer](t)(rt.NewQuantizer(demo(t, rt), mix,
		&ggufx.QuantizerOptions{Flags: ggufx.QuantizerAllowRequantize}))
	var types []ggufx.TensorType
	for _, p := range tensorsOf(t, q) {
		if strings.HasSuffix(p.Name, "ffn_up.weight") {
			types = append(types, ggufx.TypeQ5_1)
		} else {
			types = append(types, ggufx.QuantizerDefaultType)
		}
	}
	ok(t, q.OverrideTypes(types))
	return q
}

func chosen(t testing.TB, q *ggufx.Quantizer) (all []int) {
	for i, p := range tensorsOf(t, q) {
		if p.Reason == ggufx.QuantizerReasonOverride {
			check(t, p.To == ggufx.TypeQ5_1, p)
			all = append(all, i)
		}
	}
	return all
}

func TestPlan(t *testing.T) {
	q := plan(t)
	info, at := must[ggufx.QuantizerFacts](t)(q.Info()), chosen(t, q)
	check(t, info.BytesOut < info.BytesIn && len(at) > 0, info)
	coarse := must[float64](t)(q.TensorError(at[0], ggufx.TypeQ4_0, 4096, nil))
	fine := must[float64](t)(q.TensorError(at[0], ggufx.TypeQ8_0, 4096, nil))
	check(t, fine < coarse/4, fine, coarse)
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := q.TensorError(at[0], ggufx.TypeQ4_0, 0, &ggufx.Watch{Context: stop})
	check(t, fails(t, err, ggufx.StatusCancelled) != nil && errors.Is(err, context.Canceled))
	_, err = q.TensorAt(int(info.Tensors))
	fails(t, err, ggufx.StatusArgument)
	types := make([]ggufx.TensorType, info.Tensors)
	for i := range types {
		types[i] = ggufx.TypeQ8_K
	}
	fails(t, q.OverrideTypes(types), ggufx.StatusUnsupported)
	check(t, len(chosen(t, q)) == len(at)) // a call that fails leaves the plan
	ok(t, q.Close())
}

func TestCancelledRunIsResumed(t *testing.T) {
	whole, path := filepath.Join(t.TempDir(), "whole.gguf"), filepath.Join(t.TempDir(), "q.gguf")
	ok(t, plan(t).Run(whole, nil))
	q, seen, again := plan(t), 0, 0
	stop, cancel := context.WithCancel(context.Background())
	err := q.Run(path, &ggufx.QuantizerRunOptions{Flags: ggufx.QuantizerRunKeep, Watch: ggufx.Watch{Context: stop},
		TensorDone: func(int, ggufx.QuantizerTensorFacts) error {
			if seen++; seen == 4 {
				cancel()
			}
			return nil
		}})
	check(t, fails(t, err, ggufx.StatusCancelled) != nil && errors.Is(err, context.Canceled))
	_, err = os.Stat(path)
	check(t, os.IsNotExist(err) && seen >= 4)
	ok(t, q.Run(path, &ggufx.QuantizerRunOptions{Flags: ggufx.QuantizerRunResume | ggufx.QuantizerRunMeasure,
		TensorDone: func(int, ggufx.QuantizerTensorFacts) error { again++; return nil }}))
	check(t, bytes.Equal(must[[]byte](t)(os.ReadFile(whole)), must[[]byte](t)(os.ReadFile(path))))
	tensors := tensorsOf(t, q)
	check(t, again > 0 && again < len(tensors), seen, again)
	check(t, tensors[chosen(t, q)[0]].RMSE > 0 || tensors[len(tensors)-1].RMSE > 0)
}

func TestPanicInRun(t *testing.T) {
	q := plan(t)
	defer func() { check(t, recover() == "seen enough") }()
	_ = q.Run(filepath.Join(t.TempDir(), "q.gguf"),
		&ggufx.QuantizerRunOptions{TensorDone: func(int, ggufx.QuantizerTensorFacts) error { panic("seen enough") }})
}

func copyOf(t testing.TB, rt *ggufx.Runtime, f *ggufx.File, options *ggufx.WriterOptions) *ggufx.Writer {
	w := must[*ggufx.Writer](t)(rt.NewWriter(options))
	ok(t, w.CopyMeta(f))
	ok(t, w.CopyTensors(f))
	return w
}

func TestEdit(t *testing.T) {
	rt, path := newRuntime(t), filepath.Join(t.TempDir(), "edited.gguf")
	ok(t, copyOf(t, rt, demo(t, rt), &ggufx.WriterOptions{ReserveBytes: 4096}).Write(path, nil))
	f := must[*ggufx.File](t)(rt.Open(path, nil))
	w := copyOf(t, rt, f, nil)
	ok(t, w.SetString("general.name", "edited"))
	check(t, must[ggufx.EditFacts](t)(w.EditInfo(f, nil)).InPlace)
	info := must[ggufx.EditFacts](t)(w.Edit(f, path, &ggufx.EditOptions{Flags: ggufx.EditInPlace}))
	check(t, info.InPlace && info.Written < info.Bytes/10, info)
	ok(t, w.SetString("general.name", strings.Repeat("x", 100000)))
	_, err := w.Edit(f, path, &ggufx.EditOptions{Flags: ggufx.EditInPlace})
	fails(t, err, ggufx.StatusCapacity)
	check(t, !must[bool](t)(rt.FileRecoverEdit(path)))
}
