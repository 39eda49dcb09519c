// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Model is a file bound to the graph of its architecture; immutable, keeps the file's data alive.
type Model struct{ p *C.ggufx_model }

// NewModel binds a file; no weight is copied. Errors: those of ggufx_model_create.
func (rt *Runtime) NewModel(f *File) (*Model, error) {
	m, e := new(Model), record()
	err := done(C.ggufx_model_create(&m.p, rt.ptr(), f.ptr(), nil, e), e)
	runtime.KeepAlive(f)
	runtime.KeepAlive(rt)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(m, (*Model).Close)
	return m, nil
}

// Close drops the model; sessions keep theirs.
func (m *Model) Close() error {
	if m.p != nil {
		runtime.SetFinalizer(m, nil)
		C.ggufx_model_destroy(m.p)
		m.p = nil
	}
	return nil
}

// ModelInfo describes a model.
type ModelInfo struct {
	Architecture                      string
	Parameters, WeightBytes           uint64
	Vocab, Context, Embedding, Layers int
	Heads, KVHeads, HeadDim           int
}

// Info describes the model.
func (m *Model) Info() (ModelInfo, error) {
	out, e := C.ggufx_model_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err := done(C.ggufx_model_info(&out, m.p, e), e)
	runtime.KeepAlive(m)
	if err != nil {
		return ModelInfo{}, err
	}
	return ModelInfo{C.GoString(out.architecture), uint64(out.n_parameters),
		uint64(out.weight_bytes), int(out.n_vocab), int(out.n_context), int(out.n_embedding),
		int(out.n_layers), int(out.n_heads), int(out.n_kv_heads), int(out.head_dim)}, nil
}

// Sampler chooses ids; it holds its random state.
type Sampler struct{ p *C.ggufx_sampler }

// SamplerOptions of NewSampler; nil is greedy.
type SamplerOptions struct {
	Temperature, TopP, MinP float32
	TopK                    uint32
	Seed                    uint64
}

// NewSampler serves vocabularies of up to nVocab tokens. Errors: ARGUMENT, MEMORY.
func (rt *Runtime) NewSampler(nVocab int, options *SamplerOptions) (*Sampler, error) {
	var o C.ggufx_sampler_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.temperature, o.top_p = C.float(options.Temperature), C.float(options.TopP)
		o.min_p, o.top_k = C.float(options.MinP), C.uint32_t(options.TopK)
		o.seed = C.uint64_t(options.Seed)
	}
	s, e := new(Sampler), record()
	err := done(C.ggufx_sampler_create(&s.p, rt.ptr(), C.uint32_t(nVocab), &o, e), e)
	runtime.KeepAlive(rt)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(s, (*Sampler).Close)
	return s, nil
}

// Close frees the sampler.
func (s *Sampler) Close() error {
	if s.p != nil {
		runtime.SetFinalizer(s, nil)
		C.ggufx_sampler_destroy(s.p)
		s.p = nil
	}
	return nil
}

// Sample chooses an id, and gives the logarithm of its probability before the filters.
func (s *Sampler) Sample(logits []float32) (id int32, logprob float32, err error) {
	e := record()
	out := C.ggufx_go_sample(unsafe.Pointer(s.p), floats(logits), C.size_t(len(logits)), e)
	err = done(out.status, e)
	runtime.KeepAlive(s)
	return int32(out.id), float32(out.logprob), err
}
