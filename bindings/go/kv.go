// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// KV is a cache of keys and values, per layer and sequence.
type KV struct {
	*handle
	qHeads int
}

// KVLayer is what differs from layer to layer.
type KVLayer struct {
	TypeK, TypeV KVType // KVDEFAULT: the cache's type
	Window       uint32 // attention window in positions; 0: all up to its own
	WindowKind   WindowKind
}

// KVOptions of NewKV; 0 is the default.
type KVOptions struct {
	Flags                   KVFlags
	Layers, KVHeads, QHeads int
	HeadDimK, HeadDimV      int
	TypeK, TypeV            KVType
	Sequences               int
	MaxTokens               uint64
	Sinks                   uint32 // first tokens kept as F16 (BF16: as F32); 0: 64; KVNoSinks: none
	RopeStyle               RopeStyle
	RopeDims                int
	RopeBase, RopeScale     float32
	RopeFrequencies         []float64 // radians per position, instead of base and scale
	LayerOptions            []KVLayer // nil, or one per layer
	Model                   uint64
}

func (o *KVOptions) native() (out C.ggufx_kv_options, layers []C.ggufx_kv_layer) {
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	out.flags = C.uint32_t(o.Flags)
	out.n_layers, out.n_kv_heads = C.uint32_t(o.Layers), C.uint32_t(o.KVHeads)
	out.n_q_heads, out.n_sequences = C.uint32_t(o.QHeads), C.uint32_t(o.Sequences)
	out.head_dim_k, out.head_dim_v = C.uint32_t(o.HeadDimK), C.uint32_t(o.HeadDimV)
	out.type_k, out.type_v = C.uint32_t(o.TypeK), C.uint32_t(o.TypeV)
	out.max_tokens, out.n_sinks = C.uint64_t(o.MaxTokens), C.uint32_t(o.Sinks)
	out.rope_style, out.rope_dims = C.uint32_t(o.RopeStyle), C.uint32_t(o.RopeDims)
	out.rope_base, out.rope_scale = C.float(o.RopeBase), C.float(o.RopeScale)
	out.n_rope_frequencies = C.size_t(len(o.RopeFrequencies))
	out.n_layer_options, out.model = C.uint32_t(len(o.LayerOptions)), C.uint64_t(o.Model)
	for _, l := range o.LayerOptions {
		layers = append(layers, C.ggufx_kv_layer{type_k: C.uint32_t(l.TypeK),
			type_v: C.uint32_t(l.TypeV), window: C.uint32_t(l.Window),
			window_kind: C.uint32_t(l.WindowKind)})
	}
	return out, layers
}

func doubles(x []float64) *C.double {
	if len(x) == 0 {
		return nil
	}
	return (*C.double)(unsafe.Pointer(&x[0]))
}

func first(layers []C.ggufx_kv_layer) *C.ggufx_kv_layer {
	if len(layers) == 0 {
		return nil
	}
	return &layers[0]
}

// NewKV creates an empty cache. Errors: ARGUMENT, MEMORY, TYPE.
func (rt *Runtime) NewKV(o *KVOptions) (*KV, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	options, layers := o.native()
	var out *C.ggufx_kv
	e := record()
	err = done(C.ggufx_go_kv(&out, nil, 0, rtp, &options, first(layers),
		doubles(o.RopeFrequencies), e), e)
	if err != nil {
		return nil, err
	}
	return &KV{hold(unsafe.Pointer(out), destroyKV), o.QHeads}, nil
}

// EstimateKV returns the memory of such a cache in bytes, with nTokens reserved in every sequence.
func (rt *Runtime) EstimateKV(o *KVOptions, nTokens uint64) (uint64, error) {
	rtp, err := rt.enter()
	if err != nil {
		return 0, err
	}
	defer rt.leave()
	options, layers := o.native()
	var out C.uint64_t
	e := record()
	err = done(C.ggufx_go_kv(nil, &out, C.uint64_t(nTokens), rtp, &options, first(layers),
		doubles(o.RopeFrequencies), e), e)
	return uint64(out), err
}

// Close frees the cache.
func (kv *KV) Close() error {
	if kv == nil {
		return nil
	}
	return kv.close()
}

func (kv *KV) enter() (*C.ggufx_kv, error) {
	if kv == nil {
		return nil, argument("no cache")
	}
	p, err := kv.handle.enter("cache")
	return (*C.ggufx_kv)(p), err
}

func destroyKV(p unsafe.Pointer) { C.ggufx_kv_destroy((*C.ggufx_kv)(p)) }

// use runs a call that returns only a status.
func (kv *KV) use(call func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status) error {
	p, err := kv.enter()
	if err != nil {
		return err
	}
	defer kv.leave()
	e := record()
	return done(call(p, e), e)
}

// Reserve reserves all pages for nTokens of a sequence.
func (kv *KV) Reserve(sequence uint32, nTokens uint64) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_reserve(p, C.uint32_t(sequence), C.uint64_t(nTokens), e)
	})
}

// Append adds nTokens tokens to a layer of a sequence, all or nothing; positions nil: the next ones.
// v is nil when values are part of the keys. Errors: ARGUMENT, VALUE, CAPACITY, MEMORY.
func (kv *KV) Append(layer, sequence uint32, nTokens int, positions []int32, k, v []float32) error {
	kvp, err := kv.enter()
	if err != nil {
		return err
	}
	defer kv.leave()
	if positions != nil && len(positions) != nTokens || nTokens < 0 {
		return argument("%d positions of %d tokens", len(positions), nTokens)
	}
	e := record()
	return done(C.ggufx_go_append(unsafe.Pointer(kvp), C.uint32_t(layer), C.uint32_t(sequence),
		C.size_t(nTokens), ints(positions), floats(k), C.size_t(len(k)), floats(v),
		C.size_t(len(v)), e), e)
}

// AppendHalf is Append from values of 16 bits.
func (kv *KV) AppendHalf(layer, sequence uint32, nTokens int, positions []int32, format HalfFormat,
	k, v []uint16) error {
	if positions != nil && len(positions) != nTokens || nTokens < 0 {
		return argument("%d positions of %d tokens", len(positions), nTokens)
	}
	half := func(s []uint16) *C.uint16_t {
		if len(s) == 0 {
			return nil
		}
		return (*C.uint16_t)(unsafe.Pointer(&s[0]))
	}
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_append_half(unsafe.Pointer(p), C.uint32_t(layer), C.uint32_t(sequence),
			C.size_t(nTokens), ints(positions), C.uint32_t(format), half(k), C.size_t(len(k)), half(v),
			C.size_t(len(v)), e)
	})
}

// AppendBatch adds a token to each of sequences at its position, all or nothing.
func (kv *KV) AppendBatch(layer uint32, sequences []uint32, positions []int32, k, v []float32) error {
	if len(positions) != len(sequences) {
		return argument("%d positions of %d tokens", len(positions), len(sequences))
	}
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_append_batch(unsafe.Pointer(p), C.uint32_t(layer), C.size_t(len(sequences)),
			words(sequences), ints(positions), floats(k), C.size_t(len(k)), floats(v),
			C.size_t(len(v)), e)
	})
}

// Length returns the tokens of a sequence.
func (kv *KV) Length(sequence uint32) (uint64, error) {
	var out C.uint64_t
	err := kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_length(&out, p, C.uint32_t(sequence), e)
	})
	return uint64(out), err
}

// Positions fills out with the positions of tokens first.. of a sequence.
func (kv *KV) Positions(sequence uint32, first uint64, out []int32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_positions(ints(out), p, C.uint32_t(sequence), C.uint64_t(first),
			C.uint64_t(len(out)), e)
	})
}

// Truncate keeps the first nTokens of a sequence.
func (kv *KV) Truncate(sequence uint32, nTokens uint64) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_kv_truncate(unsafe.Pointer(p), C.uint32_t(sequence), C.uint64_t(nTokens), e)
	})
}

// Begin starts a transaction on a sequence: Rollback undoes all appends until Commit.
func (kv *KV) Begin(sequence uint32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_begin(p, C.uint32_t(sequence), e)
	})
}

// Commit ends a call and keeps the appended tokens.
func (kv *KV) Commit(sequence uint32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_commit(p, C.uint32_t(sequence), e)
	})
}

// Rollback restores the state at Begin, or truncates all layers of a sequence to the shortest one.
func (kv *KV) Rollback(sequence uint32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_rollback(p, C.uint32_t(sequence), e)
	})
}

// Remove removes the tokens at positions p0..p1-1.
func (kv *KV) Remove(sequence uint32, p0, p1 int32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_remove(p, C.uint32_t(sequence), C.int32_t(p0), C.int32_t(p1), e)
	})
}

// Copy copies the tokens at positions p0..p1-1 of a sequence into an empty one.
func (kv *KV) Copy(from, to uint32, p0, p1 int32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_copy(p, C.uint32_t(from), C.uint32_t(to), C.int32_t(p0),
			C.int32_t(p1), e)
	})
}

// Shift adds delta to the positions p0..p1-1.
func (kv *KV) Shift(sequence uint32, p0, p1, delta int32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_shift(p, C.uint32_t(sequence), C.int32_t(p0), C.int32_t(p1),
			C.int32_t(delta), e)
	})
}

// Keep drops all sequences but one.
func (kv *KV) Keep(sequence uint32) error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_keep(p, C.uint32_t(sequence), e)
	})
}

// Clear drops all tokens.
func (kv *KV) Clear() error {
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_clear(p, e)
	})
}

// Calibrate sets the means and equalisers of a layer; nil: 0 and 1.
func (kv *KV) Calibrate(layer uint32, muK, eqK, muV []float32) error {
	n := len(muK)
	if muK == nil {
		n = len(eqK)
	}
	if eqK != nil && len(eqK) != n {
		return argument("%d means and %d equalisers", n, len(eqK))
	}
	return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_kv_calibrate(p, C.uint32_t(layer), floats(muK), floats(eqK),
			C.size_t(n), floats(muV), C.size_t(len(muV)), e)
	})
}

// Requantize changes the types of the keys and values of a layer, or of KVAllLayers; KVKeepType:
// unchanged.
func (kv *KV) Requantize(layer uint32, typeK, typeV KVType, watch *Watch) error {
	return watched(watch, func(user C.uintptr_t) error {
		return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_kv_requantize(p, C.uint32_t(layer), C.uint32_t(typeK),
				C.uint32_t(typeV), user, e)
		})
	})
}

// Compact makes few pages of the parts of pages in a sequence, or in KVAllSequences.
func (kv *KV) Compact(sequence uint32, watch *Watch) error {
	return watched(watch, func(user C.uintptr_t) error {
		return kv.use(func(p *C.ggufx_kv, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_kv_compact(p, C.uint32_t(sequence), user, e)
		})
	})
}

// KVStats describes a layer or a cache.
type KVStats struct {
	TypeK, TypeV                           KVType
	Tokens, Pages, PlainPages, SharedPages uint64
	PageBytes, BytesPerToken               uint64
	BitsPerValue, KError, VError           float64
}

// Stats describes a layer, or the cache (KVAllLayers).
func (kv *KV) Stats(layer uint32) (KVStats, error) {
	kvp, err := kv.enter()
	if err != nil {
		return KVStats{}, err
	}
	defer kv.leave()
	out, e := C.ggufx_kv_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if err := done(C.ggufx_kv_stats(&out, kvp, C.uint32_t(layer), e), e); err != nil {
		return KVStats{}, err
	}
	return KVStats{KVType(out.type_k), KVType(out.type_v), uint64(out.n_tokens),
		uint64(out.n_pages), uint64(out.n_plain_pages), uint64(out.n_shared_pages),
		uint64(out.page_bytes), uint64(out.bytes_per_token), float64(out.bits_per_value),
		float64(out.k_error), float64(out.v_error)}, nil
}
