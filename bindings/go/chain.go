// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"sync/atomic"
	"unsafe"
)

// Candidate is a token that may be sampled; a Logit of -infinity removes it.
type Candidate struct {
	ID    int32
	Logit float32
}

// LogitBias is added to the logit of a token.
type LogitBias struct {
	ID   int32
	Bias float32
}

// Link is one sampler of a chain: its Kind decides which members are used, as in ggufx/sampler.h;
// zeros are the defaults given there.
type Link struct {
	Kind                            LinkKind
	K                               uint32  // LinkKindTopK
	P                               float32 // LinkKindTopP, LinkKindMinP, LinkKindTypical
	NSigma                          float32 // LinkKindTopNSigma
	Probability, Threshold          float32 // LinkKindXtc
	Temperature, Range, Exponent    float32 // LinkKindTemperature
	Last                            uint32  // penalties, DRY: last accepted tokens considered
	Repetition, Frequency, Presence float32 // LinkKindPenalties
	Multiplier, Base                float32 // LinkKindDry
	AllowedLength                   uint32  // LinkKindDry
	Breakers                        []int32 // LinkKindDry
	Biases                          []LogitBias
	Tau, Eta                        float32 // LinkKindMirostat
	M, Version                      uint32  // LinkKindMirostat
	// LinkKindHost: changes logits of the candidates that are left, or their order; false ends the call
	// with CANCELLED. Samplers and their clones may call it from several goroutines.
	Host func(candidates []Candidate) bool
}

// hostLink is a function that samplers share.
type hostLink struct {
	handle   cgo.Handle
	samplers atomic.Int32
	call     func(candidates []Candidate) bool
	panicked atomic.Value // boxed value of type any
}

type box struct{ value any }

func (h *hostLink) drop() {
	if h.samplers.Add(-1) == 0 {
		h.handle.Delete()
	}
}

//export ggufxGoLink
func ggufxGoLink(user C.uintptr_t, candidates *C.ggufx_candidate, n C.size_t) (stop C.int32_t) {
	h := cgo.Handle(user).Value().(*hostLink)
	defer func() {
		if p := recover(); p != nil {
			h.panicked.Store(box{p})
			stop = 1
		}
	}()
	return stopUnless(h.call(unsafe.Slice((*Candidate)(unsafe.Pointer(candidates)), int(n))))
}

// repanic resumes the panic of a custom sampler after its call has ended.
func (s *Sampler) repanic() {
	for _, h := range *s.hosts {
		if b, ok := h.panicked.Swap(box{}).(box); ok && b.value != nil {
			panic(b.value)
		}
	}
}

// NewChain creates an empty sampler chain for vocabularies of up to nVocab tokens: it samples from
// the unmodified logits. Errors: ARGUMENT, MEMORY.
func (rt *Runtime) NewChain(nVocab int, seed uint64) (*Sampler, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var s *C.ggufx_sampler
	e := record()
	err = done(C.ggufx_sampler_create_chain(&s, rtp, C.uint32_t(nVocab), C.uint64_t(seed), e), e)
	if err != nil {
		return nil, err
	}
	return newSampler(s, nil), nil
}

// Add appends a sampler to the chain. Errors: ARGUMENT, DUPLICATE, LIMIT, MEMORY, STATE.
func (s *Sampler) Add(link Link) error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	l := C.ggufx_sampler_link{kind: C.uint32_t(link.Kind), k: C.uint32_t(link.K), p: C.float(link.P),
		n_sigma: C.float(link.NSigma), probability: C.float(link.Probability),
		threshold: C.float(link.Threshold), temperature: C.float(link.Temperature),
		exponent: C.float(link.Exponent), repetition: C.float(link.Repetition),
		frequency: C.float(link.Frequency), presence: C.float(link.Presence),
		n_last: C.uint32_t(link.Last), multiplier: C.float(link.Multiplier), base: C.float(link.Base),
		allowed_length: C.uint32_t(link.AllowedLength), tau: C.float(link.Tau),
		eta: C.float(link.Eta), m: C.uint32_t(link.M), version: C.uint32_t(link.Version),
		n_breakers: C.size_t(len(link.Breakers)), n_biases: C.size_t(len(link.Biases))}
	l._range = C.float(link.Range)
	l.struct_size = C.uint32_t(unsafe.Sizeof(l))
	var biases *C.ggufx_logit_bias
	if len(link.Biases) > 0 {
		biases = (*C.ggufx_logit_bias)(unsafe.Pointer(&link.Biases[0]))
	}
	var host *hostLink
	user := C.uintptr_t(0)
	if link.Host != nil {
		host = &hostLink{call: link.Host}
		host.samplers.Store(1)
		host.handle = cgo.NewHandle(host)
		user = C.uintptr_t(host.handle)
	}
	e := record()
	err = done(C.ggufx_go_sampler_add(sp, &l, ints(link.Breakers), biases, user, e), e)
	if host != nil && err != nil {
		host.drop()
	} else if host != nil {
		*s.hosts = append(*s.hosts, host)
	}
	return err
}

// Accept records tokens appended to the sequence, from any source; all or none. Errors: ARGUMENT
// (its Index is the first id outside of the vocabulary).
func (s *Sampler) Accept(ids ...int32) error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(C.ggufx_sampler_accept(sp, ints(ids), C.size_t(len(ids)), e), e)
}

// Reset restores the initial state, with the same samplers.
func (s *Sampler) Reset() error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(C.ggufx_sampler_reset(sp, e), e)
}

// Clone returns a copy with the same state: it continues exactly as this one. Errors: MEMORY.
func (s *Sampler) Clone() (*Sampler, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	var other *C.ggufx_sampler
	e := record()
	err = done(C.ggufx_sampler_clone(&other, sp, e), e)
	if err != nil {
		return nil, err
	}
	hosts := append([]*hostLink(nil), *s.hosts...)
	for _, host := range hosts {
		host.samplers.Add(1)
	}
	return newSampler(other, hosts), nil
}
