// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Speculator runs speculative decoding on a session: its ids are exactly those of decoding token by
// token, whatever the draft tokens are. One call at a time, also on its sessions.
type Speculator struct {
	*handle
	session, draft *Session
	guessing       *guessing
}

// SpeculatorOptions of NewSpeculator; nil is prompt lookup.
type SpeculatorOptions struct {
	Draft *Session // draft model's session, with the same vocabulary
	// Guess writes draft tokens into out and returns their number; the sequence is text, then last.
	// Not together with Draft.
	Guess func(text []int32, last int32, out []int32) int
	Stops []int32 // end-of-generation token ids
	Most  int     // maximum draft tokens per step; 0: 15
	Match int     // n-gram length for prompt lookup; 0: 3
}

type guessing struct {
	call     func(text []int32, last int32, out []int32) int
	panicked any
}

//export ggufxGoGuess
func ggufxGoGuess(user C.uintptr_t, out *C.int32_t, most C.size_t, text *C.int32_t, nText C.size_t,
	last C.int32_t) (n C.size_t) {
	g := cgo.Handle(user).Value().(*guessing)
	if g.panicked != nil {
		return 0
	}
	defer func() {
		if p := recover(); p != nil {
			g.panicked, n = p, 0
		}
	}()
	before := unsafe.Slice((*int32)(unsafe.Pointer(text)), int(nText))
	to := unsafe.Slice((*int32)(unsafe.Pointer(out)), int(most))
	return C.size_t(g.call(before, int32(last), to))
}

// enterAll counts a call on sessions in, of which some are nil; the function counts it out.
func enterAll(sessions ...*Session) (func(), error) {
	n := 0
	leave := func() {
		for _, s := range sessions[:n] {
			if s != nil {
				s.leave()
			}
		}
	}
	for _, s := range sessions {
		if s != nil {
			if _, err := s.enter(); err != nil {
				leave()
				return nil, err
			}
		}
		n++
	}
	return leave, nil
}

// NewSpeculator is for sequence 0 of a session whose products are MatmulBatchInvariant or MatmulTiles.
// Sessions that are closed before it are freed with it. Errors: ARGUMENT, LIMIT, MEMORY, MISMATCH.
func (s *Session) NewSpeculator(options *SpeculatorOptions) (*Speculator, error) {
	if s == nil {
		return nil, argument("no session")
	}
	var o SpeculatorOptions
	if options != nil {
		o = *options
	}
	leave, err := enterAll(s, o.Draft)
	if err != nil {
		return nil, err
	}
	var draft *C.ggufx_session
	if o.Draft != nil {
		draft = (*C.ggufx_session)(o.Draft.p)
	}
	var host cgo.Handle
	var g *guessing
	if o.Guess != nil {
		g = &guessing{call: o.Guess}
		host = cgo.NewHandle(g)
	}
	end := func(p unsafe.Pointer) {
		C.ggufx_speculator_destroy((*C.ggufx_speculator)(p))
		if host != 0 {
			host.Delete()
		}
		leave()
	}
	var out *C.ggufx_speculator
	e := record()
	err = done(C.ggufx_go_speculator(&out, (*C.ggufx_session)(s.p), draft, C.uintptr_t(host),
		ints(o.Stops), C.size_t(len(o.Stops)), C.uint32_t(o.Most), C.uint32_t(o.Match), e), e)
	if err != nil {
		end(nil)
		return nil, err
	}
	return &Speculator{hold(unsafe.Pointer(out), end), s, o.Draft, g}, nil
}

// Close frees it; its sessions stay.
func (s *Speculator) Close() error {
	if s == nil {
		return nil
	}
	return s.close()
}

func (s *Speculator) enter() (*C.ggufx_speculator, error) {
	if s == nil {
		return nil, argument("no speculator")
	}
	p, err := s.handle.enter("speculator")
	return (*C.ggufx_speculator)(p), err
}

// Next writes the next tokens, at least one, to ids and returns their number. logprobs may be nil,
// and so may matcher and watch. The last id is not in the session yet. Errors: ARGUMENT, STATE,
// those of Decode and Sample; nothing has changed then.
func (s *Speculator) Next(ids []int32, logprobs []float32, sampler *Sampler, matcher *Matcher,
	watch *Watch) (int, error) {
	if logprobs != nil && len(logprobs) != len(ids) {
		return 0, argument("%d ids, %d logprobs", len(ids), len(logprobs))
	}
	sp, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer s.leave()
	leave, err := enterAll(s.session, s.draft)
	if err != nil {
		return 0, err
	}
	defer leave()
	cp, err := sampler.enter()
	if err != nil {
		return 0, err
	}
	defer sampler.leave()
	var mp *C.ggufx_matcher
	if matcher != nil {
		mp, err = matcher.enter()
		if err != nil {
			return 0, err
		}
		defer matcher.leave()
	}
	var n C.size_t
	err = watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_speculator_next(ints(ids), floats(logprobs), C.size_t(len(ids)), &n, sp, cp,
			mp, user, e), e)
	})
	sampler.repanic()
	if g := s.guessing; g != nil && g.panicked != nil {
		p := g.panicked
		g.panicked = nil
		panic(p)
	}
	return int(n), err
}

// SpeculatorInfo counts draft tokens and their acceptance.
type SpeculatorInfo struct {
	Calls    uint64 // calls of Next that returned tokens
	Tokens   uint64 // they gave
	Drafted  uint64 // draft tokens
	Accepted uint64 // accepted draft tokens: chosen by the sampler
}

// Info returns the counts of draft tokens and their acceptance.
func (s *Speculator) Info() (SpeculatorInfo, error) {
	sp, err := s.enter()
	if err != nil {
		return SpeculatorInfo{}, err
	}
	defer s.leave()
	out, e := C.ggufx_speculator_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_speculator_info(&out, sp, e), e)
	return SpeculatorInfo{uint64(out.n_calls), uint64(out.n_tokens), uint64(out.n_drafted),
		uint64(out.n_accepted)}, err
}
