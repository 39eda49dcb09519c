// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

func asked() ggufx.EstimateOptions {
	return ggufx.EstimateOptions{Quantizer: &ggufx.QuantizerOptions{Flags: ggufx.QuantizerAllowRequantize}, Context: 128}
}

func TestEstimate(t *testing.T) {
	rt, o := newRuntime(t), asked()
	f := demo(t, rt)
	a := must[ggufx.EstimateFacts](t)(rt.Estimate(f, &o))
	check(t, a.FileType == ggufx.EstimateAsIs && a.Flags&ggufx.EstimateFits != 0 && a.Context == 128, a)
	check(t, a.TotalBytes == a.FileBytes+a.RuntimeBytes+a.ModelBytes+a.KVBytes+a.SessionBytes && a.TokensPerSecond == 0, a)
	q4 := must[uint32](t)(ggufx.FileTypeFind("Q4_0"))
	o.Flags, o.FileType, o.TypeK, o.Bandwidth = ggufx.EstimateHasFileType, q4, ggufx.TypeQ8_0, 1e10
	b := must[ggufx.EstimateFacts](t)(rt.Estimate(f, &o))
	check(t, b.FileType == q4 && b.TypeK == ggufx.TypeQ8_0 && b.WeightBytes < a.WeightBytes, b)
	check(t, b.Loss > a.Loss && b.TokensPerSecond > 0, b)
	o.Bandwidth = -1
	_, err := rt.Estimate(f, &o)
	fails(t, err, ggufx.StatusArgument)
	check(t, must[ggufx.EstimateFacts](t)(rt.Estimate(f, nil)).Context >= 128)
}
