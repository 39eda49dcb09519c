// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Model is a file bound to the graph of its architecture; immutable, keeps the file's data alive.
type Model struct{ *handle }

// NewModel binds a file; no weight is copied. Errors: those of ggufx_model_create.
func (rt *Runtime) NewModel(f *File) (*Model, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	var m *C.ggufx_model
	e := record()
	err = done(C.ggufx_model_create(&m, rtp, fp, nil, e), e)
	if err != nil {
		return nil, err
	}
	return &Model{hold(unsafe.Pointer(m), destroyModel)}, nil
}

// Close drops the model; sessions keep theirs.
func (m *Model) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}

func (m *Model) enter() (*C.ggufx_model, error) {
	if m == nil {
		return nil, argument("no model")
	}
	p, err := m.handle.enter("model")
	return (*C.ggufx_model)(p), err
}

func destroyModel(p unsafe.Pointer) { C.ggufx_model_destroy((*C.ggufx_model)(p)) }

// ModelInfo describes a model.
type ModelInfo struct {
	Architecture                      string
	Parameters, WeightBytes           uint64
	Vocab, Context, Embedding, Layers int
	Heads, KVHeads, HeadDim           int
}

// Info describes the model.
func (m *Model) Info() (ModelInfo, error) {
	mp, err := m.enter()
	if err != nil {
		return ModelInfo{}, err
	}
	defer m.leave()
	out, e := C.ggufx_model_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_model_info(&out, mp, e), e)
	if err != nil {
		return ModelInfo{}, err
	}
	return ModelInfo{C.GoString(out.architecture), uint64(out.n_parameters),
		uint64(out.weight_bytes), int(out.n_vocab), int(out.n_context), int(out.n_embedding),
		int(out.n_layers), int(out.n_heads), int(out.n_kv_heads), int(out.head_dim)}, nil
}

// Sampler chooses ids; it holds its random state.
type Sampler struct{ *handle }

// SamplerOptions of NewSampler; nil is greedy.
type SamplerOptions struct {
	Temperature, TopP, MinP float32
	TopK                    uint32
	Seed                    uint64
}

// NewSampler serves vocabularies of up to nVocab tokens. Errors: ARGUMENT, MEMORY.
func (rt *Runtime) NewSampler(nVocab int, options *SamplerOptions) (*Sampler, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var o C.ggufx_sampler_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.temperature, o.top_p = C.float(options.Temperature), C.float(options.TopP)
		o.min_p, o.top_k = C.float(options.MinP), C.uint32_t(options.TopK)
		o.seed = C.uint64_t(options.Seed)
	}
	var s *C.ggufx_sampler
	e := record()
	err = done(C.ggufx_sampler_create(&s, rtp, C.uint32_t(nVocab), &o, e), e)
	if err != nil {
		return nil, err
	}
	return &Sampler{hold(unsafe.Pointer(s), destroySampler)}, nil
}

// Close frees the sampler.
func (s *Sampler) Close() error {
	if s == nil {
		return nil
	}
	return s.close()
}

func (s *Sampler) enter() (*C.ggufx_sampler, error) {
	if s == nil {
		return nil, argument("no sampler")
	}
	p, err := s.handle.enter("sampler")
	return (*C.ggufx_sampler)(p), err
}

func destroySampler(p unsafe.Pointer) { C.ggufx_sampler_destroy((*C.ggufx_sampler)(p)) }

// Sample chooses an id, and gives the logarithm of its probability before the filters.
func (s *Sampler) Sample(logits []float32) (id int32, logprob float32, err error) {
	sp, err := s.enter()
	if err != nil {
		return 0, 0, err
	}
	defer s.leave()
	e := record()
	out := C.ggufx_go_sample(unsafe.Pointer(sp), floats(logits), C.size_t(len(logits)), e)
	err = done(out.status, e)
	return int32(out.id), float32(out.logprob), err
}
