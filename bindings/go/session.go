// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Session is one conversation, or Sequences of them; it keeps its model's data alive.
type Session struct {
	*handle
	layers []layerWidths
	vocab  int
	width  int // width of a row of the first layer
}

// SessionOptions of NewSession; nil is the default.
type SessionOptions struct {
	Context, Batch int // 0: the trained context up to 8192, 512
	TypeK, TypeV   KVType
	MatmulFlags    MatmulFlags
	Checkpoints    uint32 // states kept to go back to; 0: 8, or SessionNoCheckpoints
	Sequences      int    // conversations, each of Context tokens; 0: 1
	ContextTotal   uint64 // total tokens of their shared memory; 0: each has its own
}

// NewSession creates a session and allocates all its memory. Errors: ARGUMENT, MEMORY, TYPE.
func (m *Model) NewSession(options *SessionOptions) (*Session, error) {
	mp, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer m.leave()
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	layers := make([]layerWidths, info.Layers)
	for i := range layers {
		layer, err := m.Layer(i)
		if err != nil {
			return nil, err
		}
		layers[i] = layer.widths()
	}
	var o C.ggufx_session_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.n_context, o.n_batch = C.uint32_t(options.Context), C.uint32_t(options.Batch)
		o.type_k, o.type_v = C.uint32_t(options.TypeK), C.uint32_t(options.TypeV)
		o.matmul_flags = C.uint32_t(options.MatmulFlags)
		o.n_checkpoints = C.uint32_t(options.Checkpoints)
		o.n_sequences = C.uint32_t(options.Sequences)
		o.n_context_total = C.uint64_t(options.ContextTotal)
	}
	var s *C.ggufx_session
	e := record()
	err = done(C.ggufx_session_create(&s, mp, &o, e), e)
	if err != nil {
		return nil, err
	}
	return &Session{hold(unsafe.Pointer(s), destroySession), layers, info.Vocab, info.Embedding}, nil
}

// SessionInfo holds the options of a session with defaults filled in.
type SessionInfo struct {
	Context, Batch int
	TypeK, TypeV   KVType
	Sequences      int
	ContextTotal   uint64
}

// Info describes the session.
func (s *Session) Info() (SessionInfo, error) {
	sp, err := s.enter()
	if err != nil {
		return SessionInfo{}, err
	}
	defer s.leave()
	out, e := C.ggufx_session_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_session_info(&out, sp, e), e)
	if err != nil {
		return SessionInfo{}, err
	}
	return SessionInfo{int(out.n_context), int(out.n_batch), KVType(out.type_k),
		KVType(out.type_v), int(out.n_sequences), uint64(out.n_context_total)}, nil
}

// Close frees the session.
func (s *Session) Close() error {
	if s == nil {
		return nil
	}
	return s.close()
}

func (s *Session) enter() (*C.ggufx_session, error) {
	if s == nil {
		return nil, argument("no session")
	}
	p, err := s.handle.enter("session")
	return (*C.ggufx_session)(p), err
}

func destroySession(p unsafe.Pointer) { C.ggufx_session_destroy((*C.ggufx_session)(p)) }

// AttentionView holds the inputs and outputs of a layer's attention; its slices are valid during
// the call, of the shapes that LayerInfo tells: Q and Out [Tokens][Heads][HeadDimK, HeadDimV], K
// and V [Tokens][KVHeads][HeadDimK, HeadDimV]; V is empty if values are part of the keys
// (LayerVInK).
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
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	var o DecodeOptions
	if options != nil {
		o = *options
	}
	call := func(user C.uintptr_t, attention C.int) error {
		e := record()
		return done(C.ggufx_go_decode(unsafe.Pointer(sp), ints(tokens), C.size_t(len(tokens)),
			floats(o.AllLogits), C.size_t(len(o.AllLogits)), attention, user, e), e)
	}
	if o.Attention == nil {
		err = watched(&o.Watch, func(user C.uintptr_t) error { return call(user, 0) })
	} else {
		c := callbacks{watch: o.Watch, attention: o.Attention, layers: s.layers}
		err = c.run(func(user C.uintptr_t) error { return call(user, 1) })
	}
	return err
}

// Logits copies the logits after the last token. Errors: ARGUMENT, STATE.
func (s *Session) Logits(out []float32) error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(C.ggufx_go_logits(floats(out), C.size_t(len(out)), unsafe.Pointer(sp), e), e)
}

// Length returns the tokens in the conversation.
func (s *Session) Length() uint64 {
	p, err := s.enter()
	if err != nil {
		return 0
	}
	defer s.leave()
	return uint64(C.ggufx_session_length(p))
}

// Truncate keeps the first nTokens; the logits are gone until the next decode.
func (s *Session) Truncate(nTokens uint64) error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(C.ggufx_go_truncate(unsafe.Pointer(sp), C.uint64_t(nTokens), e), e)
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

// Perplexity scores tokens in chunks of nContext, bos (unless -1) first in each; report may be nil,
// or return false to stop. The session must be empty; it is empty again afterwards.
func (s *Session) Perplexity(tokens []int32, nContext int, bos int32,
	report func(*Perplexity) bool) (*Perplexity, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	var out C.ggufx_perplexity_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	call := func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_perplexity(&out, sp, ints(tokens), C.size_t(len(tokens)),
			C.uint32_t(nContext), C.int32_t(bos), user, e), e)
	}
	if report == nil {
		err = call(0)
	} else {
		c := callbacks{chunk: report}
		err = c.run(call)
	}
	if err != nil {
		return nil, err
	}
	return perplexityOf(&out), nil
}
