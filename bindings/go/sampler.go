// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Sampler chooses ids; it holds its random state.
type Sampler struct {
	*handle
	hosts *[]*hostLink // samplers supplied by the program
}

func newSampler(s *C.ggufx_sampler, hosts []*hostLink) *Sampler {
	list := &hosts
	return &Sampler{hold(unsafe.Pointer(s), func(p unsafe.Pointer) {
		C.ggufx_sampler_destroy((*C.ggufx_sampler)(p))
		for _, host := range *list {
			host.drop()
		}
	}), list}
}

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
	return newSampler(s, nil), nil
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

// Sample samples an id, and returns its log-probability before the filters.
func (s *Sampler) Sample(logits []float32) (id int32, logprob float32, err error) {
	sp, err := s.enter()
	if err != nil {
		return 0, 0, err
	}
	defer s.leave()
	e := record()
	out := C.ggufx_go_sample(unsafe.Pointer(sp), floats(logits), C.size_t(len(logits)), e)
	err = done(out.status, e)
	s.repanic()
	return int32(out.id), float32(out.logprob), err
}
