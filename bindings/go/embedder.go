// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Embedder computes embeddings; it keeps its model's data alive.
type Embedder struct {
	*handle
	info EmbedderInfo
}

// EmbedOptions of NewEmbedder; nil is the default.
type EmbedOptions struct {
	Context, Batch int // tokens of a text, computed at once; 0: the trained context up to 8,192, 512
	Pooling        Pooling
	Dimensions     int        // values of a result that are kept, the first ones; 0: all
	Flags          EmbedFlags // normalization of the results; truncation of texts
	MatmulFlags    MatmulFlags
}

func (o *EmbedOptions) raw() C.ggufx_embed_options {
	var raw C.ggufx_embed_options
	raw.struct_size = C.uint32_t(unsafe.Sizeof(raw))
	if o == nil {
		return raw
	}
	raw.flags = C.uint32_t(o.Flags)
	raw.n_context, raw.n_batch = C.uint32_t(o.Context), C.uint32_t(o.Batch)
	raw.pooling, raw.dimensions = C.uint32_t(o.Pooling), C.uint32_t(o.Dimensions)
	raw.matmul_flags = C.uint32_t(o.MatmulFlags)
	return raw
}

// EmbedderInfo describes an embedder.
type EmbedderInfo struct {
	Context, Batch int
	Pooling        Pooling // never PoolingDefault
	Dimensions     int     // values of a result; for PoolingRank, the file's classes
	FullDimensions int     // before the first of them are kept
}

// NewEmbedder creates an embedder and allocates all its memory. Errors: those of
// ggufx_embedder_create.
func (m *Model) NewEmbedder(options *EmbedOptions) (*Embedder, error) {
	mp, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer m.leave()
	var p *C.ggufx_embedder
	o, e := options.raw(), record()
	err = done(C.ggufx_embedder_create(&p, mp, &o, e), e)
	if err != nil {
		return nil, err
	}
	made := &Embedder{handle: hold(unsafe.Pointer(p), destroyEmbedder)}
	out := C.ggufx_embedder_facts{}
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_embedder_info(&out, p, e), e)
	if err != nil {
		made.Close()
		return nil, err
	}
	made.info = EmbedderInfo{int(out.n_context), int(out.n_batch), Pooling(out.pooling),
		int(out.dimensions), int(out.full_dimensions)}
	return made, nil
}

// EstimateEmbedder returns the memory of such an embedder in bytes, without its model.
func (rt *Runtime) EstimateEmbedder(f *File, options *EmbedOptions) (uint64, error) {
	rtp, err := rt.enter()
	if err != nil {
		return 0, err
	}
	defer rt.leave()
	fp, err := f.enter()
	if err != nil {
		return 0, err
	}
	defer f.leave()
	var out C.uint64_t
	o, e := options.raw(), record()
	err = done(C.ggufx_embedder_estimate(&out, rtp, fp, &o, e), e)
	return uint64(out), err
}

// Close frees the embedder.
func (em *Embedder) Close() error {
	if em == nil {
		return nil
	}
	return em.close()
}

func (em *Embedder) enter() (*C.ggufx_embedder, error) {
	if em == nil {
		return nil, argument("no embedder")
	}
	p, err := em.handle.enter("embedder")
	return (*C.ggufx_embedder)(p), err
}

func destroyEmbedder(p unsafe.Pointer) { C.ggufx_embedder_destroy((*C.ggufx_embedder)(p)) }

// Info describes the embedder.
func (em *Embedder) Info() EmbedderInfo { return em.info }

// EmbedInto fills out with Dimensions values for each text, with PoolingNone for each token that is
// used. The inputs are concatenated; text i has lengths[i] tokens. Errors: ARGUMENT, CANCELLED,
// VALUE.
func (em *Embedder) EmbedInto(out []float32, tokens []int32, lengths []uint, watch *Watch) error {
	p, err := em.enter()
	if err != nil {
		return err
	}
	defer em.leave()
	var ends *C.size_t
	if len(lengths) > 0 {
		ends = (*C.size_t)(unsafe.Pointer(&lengths[0]))
	}
	return watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_embed(floats(out), C.size_t(len(out)), unsafe.Pointer(p), ints(tokens),
			C.size_t(len(tokens)), ends, C.size_t(len(lengths)), user, e), e)
	})
}

// Embed returns a row of Dimensions values for each text, with PoolingNone for each token.
func (em *Embedder) Embed(texts [][]int32, watch *Watch) ([]float32, error) {
	if em == nil {
		return nil, argument("no embedder")
	}
	var tokens []int32
	lengths, rows := make([]uint, len(texts)), len(texts)
	if em.info.Pooling == PoolingNone {
		rows = 0
	}
	for i, text := range texts {
		tokens, lengths[i] = append(tokens, text...), uint(len(text))
		if em.info.Pooling != PoolingNone {
			continue
		}
		if len(text) < em.info.Context {
			rows += len(text)
		} else {
			rows += em.info.Context
		}
	}
	out := make([]float32, rows*em.info.Dimensions)
	err := em.EmbedInto(out, tokens, lengths, watch)
	if err != nil {
		return nil, err
	}
	return out, nil
}
