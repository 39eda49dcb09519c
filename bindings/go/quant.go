// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Dequantize writes rows firstRow..firstRow+nRows-1 as f32. Errors: ARGUMENT, TYPE, UNSUPPORTED.
func (t *Tensor) Dequantize(rt *Runtime, out []float32, firstRow, nRows uint64) error {
	rtp, err := rt.enter()
	if err != nil {
		return err
	}
	defer rt.leave()
	tp, err := t.enter()
	if err != nil {
		return err
	}
	defer t.leave()
	e := record()
	return done(C.ggufx_go_dequantize(floats(out), C.size_t(len(out)), unsafe.Pointer(rtp),
		unsafe.Pointer(tp), C.uint64_t(firstRow), C.uint64_t(nRows), e), e)
}

// DequantizeBlocks writes whole blocks as f32. Errors: ARGUMENT, TYPE.
func (rt *Runtime) DequantizeBlocks(out []float32, t TensorType, blocks []byte) error {
	rtp, err := rt.enter()
	if err != nil {
		return err
	}
	defer rt.leave()
	e := record()
	return done(C.ggufx_go_dequantize_blocks(floats(out), C.size_t(len(out)), unsafe.Pointer(rtp),
		C.uint32_t(t), octets(blocks), C.size_t(len(blocks)), e), e)
}

// QuantizeOptions of QuantizeBlocks; nil is the default.
type QuantizeOptions struct {
	Mode    QuantizeMode
	Imatrix []float32 // a weight per column, or nil
	Watch   Watch
}

// QuantizeBlocks writes rows of nCols values as blocks. Errors: ARGUMENT, TYPE, UNSUPPORTED, SHAPE,
// VALUE, CANCELLED, MEMORY.
func (rt *Runtime) QuantizeBlocks(out []byte, t TensorType, rows []float32, nCols int,
	options *QuantizeOptions) error {
	rtp, err := rt.enter()
	if err != nil {
		return err
	}
	defer rt.leave()
	if nCols <= 0 || len(rows)%nCols != 0 {
		return argument("%d values in rows of %d", len(rows), nCols)
	}
	var o QuantizeOptions
	if options != nil {
		o = *options
	}
	if o.Imatrix != nil && len(o.Imatrix) != nCols {
		return argument("%d weights of %d columns", len(o.Imatrix), nCols)
	}
	return watched(&o.Watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_quantize(octets(out), C.size_t(len(out)), unsafe.Pointer(rtp),
			C.uint32_t(t), floats(rows), C.size_t(len(rows)/nCols), C.size_t(nCols), C.int32_t(o.Mode),
			floats(o.Imatrix), user, e), e)
	})
}
