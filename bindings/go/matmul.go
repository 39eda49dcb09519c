// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"sync"
	"unsafe"
)

// MatmulOptions of products; nil is the default.
type MatmulOptions struct {
	Flags MatmulFlags
	Watch Watch
}

func (o *MatmulOptions) parts() (C.uint32_t, *Watch) {
	if o == nil {
		return 0, nil
	}
	return C.uint32_t(o.Flags), &o.Watch
}

// MatVec computes y = W x; y has a value per row. It allocates nothing. Errors: ARGUMENT (lengths),
// TYPE, UNSUPPORTED, LIMIT, CANCELLED.
func (t *Tensor) MatVec(rt *Runtime, y, x []float32, options *MatmulOptions) error {
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
	flags, watch := options.parts()
	return watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_matvec(floats(y), C.size_t(len(y)), unsafe.Pointer(rtp), unsafe.Pointer(tp), floats(x),
			C.size_t(len(x)), flags, user, e), e)
	})
}

// MatMul computes Y = W X for n columns, ldx and ldy floats apart; 0: dense.
func (t *Tensor) MatMul(rt *Runtime, y []float32, ldy int, x []float32, ldx, n int,
	options *MatmulOptions) error {
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
	flags, watch := options.parts()
	return watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_matmul(floats(y), C.size_t(ldy), C.size_t(len(y)), unsafe.Pointer(rtp), unsafe.Pointer(tp),
			floats(x), C.size_t(ldx), C.size_t(len(x)), C.size_t(n), flags, user, e), e)
	})
}

// MatMulID computes a mixture of experts: result j*nUsed+i is expert ids[j*nUsed+i] times column j.
func (t *Tensor) MatMulID(rt *Runtime, y []float32, ldy int, ids []uint32, nUsed int, x []float32,
	ldx int, options *MatmulOptions) error {
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
	if nUsed <= 0 || len(ids)%nUsed != 0 {
		return argument("%d ids, %d of a column", len(ids), nUsed)
	}
	flags, watch := options.parts()
	return watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_matmul_id(floats(y), C.size_t(ldy), C.size_t(len(y)), unsafe.Pointer(rtp),
			unsafe.Pointer(tp), words(ids), C.size_t(nUsed), floats(x), C.size_t(ldx), C.size_t(len(x)),
			C.size_t(len(ids)/nUsed), flags, user, e), e)
	})
}

// many are the arguments of MatVecMany, which are kept and used again.
type many struct {
	counts   [MatvecMaxMatrices]C.size_t
	matrices [MatvecMaxMatrices]*C.ggufx_tensor
}

var manies = sync.Pool{New: func() any { return new(many) }}

// MatVecMany computes the products of several matrices and one vector; concatenated in y, rows[i]
// values each. At most 64 matrices.
func MatVecMany(rt *Runtime, y []float32, rows []int, w []*Tensor, x []float32,
	options *MatmulOptions) error {
	rtp, err := rt.enter()
	if err != nil {
		return err
	}
	defer rt.leave()
	if len(rows) != len(w) || len(w) > MatvecMaxMatrices {
		return argument("%d results of %d matrices, at most %d", len(rows), len(w), MatvecMaxMatrices)
	}
	m := manies.Get().(*many)
	defer manies.Put(m)
	total, entered := 0, 0
	defer func() {
		for _, t := range w[:entered] {
			t.leave()
		}
	}()
	for i, t := range w {
		if rows[i] < 0 || rows[i] > len(y)-total {
			return argument("%d rows behind %d of %d values", rows[i], total, len(y))
		}
		total += rows[i]
		tp, err := t.enter()
		if err != nil {
			return err
		}
		entered++
		m.counts[i], m.matrices[i] = C.size_t(rows[i]), tp
	}
	flags, watch := options.parts()
	return watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_matvec_many(floats(y), &m.counts[0], unsafe.Pointer(rtp),
			unsafe.Pointer(&m.matrices), C.size_t(len(w)), floats(x), C.size_t(len(x)), flags, user, e), e)
	})
}
