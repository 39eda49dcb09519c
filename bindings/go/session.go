// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Session is one conversation; it keeps its model's data alive.
type Session struct {
	p              *C.ggufx_session
	heads, kvHeads int
}

// SessionOptions of NewSession; nil is the default.
type SessionOptions struct {
	Context, Batch int // 0: the trained context, 512
	TypeK, TypeV   KvType
	MatmulFlags    MatmulFlags
}

// NewSession takes all memory of a session. Errors: ARGUMENT, MEMORY, TYPE.
func (m *Model) NewSession(options *SessionOptions) (*Session, error) {
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	var o C.ggufx_session_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.n_context, o.n_batch = C.uint32_t(options.Context), C.uint32_t(options.Batch)
		o.type_k, o.type_v = C.uint32_t(options.TypeK), C.uint32_t(options.TypeV)
		o.matmul_flags = C.uint32_t(options.MatmulFlags)
	}
	s, e := &Session{heads: info.Heads * info.HeadDim, kvHeads: info.KVHeads * info.HeadDim}, record()
	err = done(C.ggufx_session_create(&s.p, m.p, &o, e), e)
	runtime.KeepAlive(m)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(s, (*Session).Close)
	return s, nil
}

// Close frees the session.
func (s *Session) Close() error {
	if s.p != nil {
		runtime.SetFinalizer(s, nil)
		C.ggufx_session_destroy(s.p)
		s.p = nil
	}
	return nil
}

// AttentionView is what the attention of a layer read and gave; its slices are valid during the
// call: Q and Out [Tokens][heads][HeadDim], K and V [Tokens][KV heads][HeadDim].
type AttentionView struct {
	Layer        uint32
	FirstToken   uint64
	Tokens       int
	Q, K, V, Out []float32
}

// DecodeOptions of Decode; nil is the default.
type DecodeOptions struct {
	AllLogits []float32                 // filled with the logits of every token
	Attention func(*AttentionView) bool // false ends the decode with CANCELLED
	Watch     Watch
}

// Decode appends tokens and computes the logits after the last one; all or nothing. Errors:
// ARGUMENT, CAPACITY, CANCELLED, VALUE.
func (s *Session) Decode(tokens []int32, options *DecodeOptions) error {
	var o DecodeOptions
	if options != nil {
		o = *options
	}
	call := func(user C.uintptr_t, attention C.int) error {
		e := record()
		return done(C.ggufx_go_decode(unsafe.Pointer(s.p), ints(tokens), C.size_t(len(tokens)),
			floats(o.AllLogits), C.size_t(len(o.AllLogits)), attention, user, e), e)
	}
	var err error
	if o.Attention == nil {
		err = watched(&o.Watch, func(user C.uintptr_t) error { return call(user, 0) })
	} else {
		c := callbacks{watch: o.Watch, attention: o.Attention, heads: s.heads, kvHeads: s.kvHeads}
		err = c.run(func(user C.uintptr_t) error { return call(user, 1) })
	}
	runtime.KeepAlive(s)
	return err
}

// Logits copies the logits after the last token. Errors: ARGUMENT, STATE.
func (s *Session) Logits(out []float32) error {
	e := record()
	err := done(C.ggufx_go_logits(floats(out), C.size_t(len(out)), unsafe.Pointer(s.p), e), e)
	runtime.KeepAlive(s)
	return err
}

// Length gives the tokens in the conversation.
func (s *Session) Length() uint64 {
	n := C.ggufx_session_length(s.p)
	runtime.KeepAlive(s)
	return uint64(n)
}

// Truncate keeps the first nTokens; the logits are gone until the next decode.
func (s *Session) Truncate(nTokens uint64) error {
	e := record()
	err := done(C.ggufx_go_truncate(unsafe.Pointer(s.p), C.uint64_t(nTokens), e), e)
	runtime.KeepAlive(s)
	return err
}

// Perplexity of a text.
type Perplexity struct {
	Perplexity, StandardError float64
	Chunks, Tokens, Scored    uint64
}

func perplexityOf(p *C.ggufx_perplexity_facts) *Perplexity {
	return &Perplexity{float64(p.perplexity), float64(p.standard_error), uint64(p.n_chunks),
		uint64(p.n_tokens), uint64(p.n_scored)}
}

// Perplexity scores tokens in chunks of nContext, bos (unless -1) in the first place of each; report
// may be nil, or return false to stop. The session must be empty, and is so again afterwards.
func (s *Session) Perplexity(tokens []int32, nContext int, bos int32,
	report func(*Perplexity) bool) (*Perplexity, error) {
	var out C.ggufx_perplexity_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	call := func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_perplexity(&out, s.p, ints(tokens), C.size_t(len(tokens)),
			C.uint32_t(nContext), C.int32_t(bos), user, e), e)
	}
	var err error
	if report == nil {
		err = call(0)
	} else {
		c := callbacks{chunk: report}
		err = c.run(call)
	}
	runtime.KeepAlive(s)
	if err != nil {
		return nil, err
	}
	return perplexityOf(&out), nil
}
