// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"io"
	"unsafe"
)

// AttendOptions of attention; nil is causal.
type AttendOptions struct {
	Flags          AttendFlags
	Scale, Softcap float32 // 0: 1 / sqrt(HeadDimK), none
	Window         uint32  // positions that a query sees; 0: as the layer
	WindowKind     WindowKind
	AlibiSlopes    []float32 // nil, or one per query head
	SinkLogits     []float32 // nil, or one per query head
	Watch          Watch
}

func (kv *KV) attend(out, lse []float32, layer, sequence uint32, sequences []uint32, q []float32,
	n int, positions []int32, options *AttendOptions) error {
	kvp, err := kv.enter()
	if err != nil {
		return err
	}
	defer kv.leave()
	if positions != nil && len(positions) != n || n < 0 {
		return argument("%d positions of %d queries", len(positions), n)
	}
	if lse != nil && len(lse) != n*kv.qHeads {
		return argument("lse of %d values, not %d", len(lse), n*kv.qHeads)
	}
	var o AttendOptions
	if options != nil {
		o = *options
	}
	return watched(&o.Watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_attend(floats(out), C.size_t(len(out)), floats(lse), unsafe.Pointer(kvp),
			C.uint32_t(layer), C.uint32_t(sequence), words(sequences), floats(q),
			C.size_t(len(q)), C.size_t(n), ints(positions), C.uint32_t(o.Flags), C.float(o.Scale),
			C.float(o.Softcap), C.uint32_t(o.Window), C.uint32_t(o.WindowKind), floats(o.AlibiSlopes),
			C.size_t(len(o.AlibiSlopes)), floats(o.SinkLogits), C.size_t(len(o.SinkLogits)), user,
			e), e)
	})
}

// Attend computes attention of nQueries queries over a layer of a sequence; lse may be nil,
// positions nil: those of the last tokens. Errors: ARGUMENT, CANCELLED, MEMORY.
func (kv *KV) Attend(out, lse []float32, layer, sequence uint32, q []float32, nQueries int,
	positions []int32, options *AttendOptions) error {
	return kv.attend(out, lse, layer, sequence, nil, q, nQueries, positions, options)
}

// AttendBatch computes one query of each of sequences.
func (kv *KV) AttendBatch(out, lse []float32, layer uint32, sequences []uint32, q []float32,
	positions []int32, options *AttendOptions) error {
	if len(sequences) == 0 {
		return argument("no sequences")
	}
	return kv.attend(out, lse, layer, 0, sequences, q, len(sequences), positions, options)
}

// Read decodes tokens first..first+nTokens-1 of a layer; k and v may each be nil.
func (kv *KV) Read(k, v []float32, layer, sequence uint32, first, nTokens uint64) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_kv_read(floats(k), C.size_t(len(k)), floats(v), C.size_t(len(v)),
			unsafe.Pointer(p), C.uint32_t(layer), C.uint32_t(sequence), C.uint64_t(first), C.uint64_t(nTokens), e)
	})
}

// Scores returns the scores of queries against every token of a layer; scale 0: 1 / sqrt(HeadDimK).
func (kv *KV) Scores(out []float32, layer, sequence uint32, q []float32, nQueries int,
	scale float32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_kv_scores(floats(out), C.size_t(len(out)), unsafe.Pointer(p),
			C.uint32_t(layer), C.uint32_t(sequence), floats(q), C.size_t(len(q)), C.size_t(nQueries), C.float(scale), e)
	})
}

// Save writes a snapshot of a sequence, or of KVAllSequences.
func (kv *KV) Save(sequence uint32, to io.Writer) error {
	c := callbacks{write: func(_ int, data []byte) error {
		_, err := to.Write(data)
		return err
	}}
	return c.run(func(user C.uintptr_t) error {
		return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_kv_save(p, C.uint32_t(sequence), user, e)
		})
	})
}

// Load replaces a sequence, or all, by a snapshot; whole or not at all.
func (kv *KV) Load(sequence uint32, from io.Reader) error {
	c := callbacks{read: func(_ uint64, data []byte) error {
		_, err := io.ReadFull(from, data)
		return err
	}}
	return c.run(func(user C.uintptr_t) error {
		return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_kv_load(p, C.uint32_t(sequence), user, e)
		})
	})
}

// SavePath writes a snapshot to a file, which is replaced whole or not at all.
func (kv *KV) SavePath(sequence uint32, path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_save_path(p, C.uint32_t(sequence), text, e)
	})
}

// LoadPath is Load from a file.
func (kv *KV) LoadPath(sequence uint32, path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_load_path(p, C.uint32_t(sequence), text, e)
	})
}
