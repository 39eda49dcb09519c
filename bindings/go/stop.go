// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"strings"
	"unsafe"
)

// Stop looks for texts in bytes that come piece by piece; one call at a time.
type Stop struct{ *handle }

// StopInfo says how far a text is; bytes from Shown to Taken are held back.
type StopInfo struct {
	Found int    // which text was found, -1: none yet
	Shown uint64 // bytes, of all that was fed, that belong to no text and may not begin one
	Taken uint64 // bytes looked at: all, or up to the end of the text found
}

// NewStop looks for texts of any bytes. Errors: ARGUMENT (its index is an empty text), LIMIT, MEMORY.
func (rt *Runtime) NewStop(texts ...string) (*Stop, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	lengths := make([]C.size_t, len(texts)+1)
	for i, text := range texts {
		lengths[i] = C.size_t(len(text))
	}
	from, _ := chars([]byte(strings.Join(texts, "")))
	var s *C.ggufx_stop
	e := record()
	err = done(C.ggufx_go_stop(&s, rtp, from, &lengths[0], C.size_t(len(texts)), e), e)
	if err != nil {
		return nil, err
	}
	return &Stop{hold(unsafe.Pointer(s), destroyStop)}, nil
}

// Close frees it.
func (s *Stop) Close() error {
	if s == nil {
		return nil
	}
	return s.close()
}

func (s *Stop) enter() (*C.ggufx_stop, error) {
	if s == nil {
		return nil, argument("no stop")
	}
	p, err := s.handle.enter("stop")
	return (*C.ggufx_stop)(p), err
}

func destroyStop(p unsafe.Pointer) { C.ggufx_stop_destroy((*C.ggufx_stop)(p)) }

// Feed takes the next bytes. Errors: STATE (a text was found: Reset).
func (s *Stop) Feed(text []byte) (StopInfo, error) {
	sp, err := s.enter()
	if err != nil {
		return StopInfo{}, err
	}
	defer s.leave()
	from, n := chars(text)
	out, e := C.ggufx_stop_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_stop_feed(&out, sp, from, n, e), e)
	if err != nil {
		return StopInfo{}, err
	}
	return StopInfo{int(out.found), uint64(out.n_shown), uint64(out.n_taken)}, nil
}

// Reset goes to the begin of another text.
func (s *Stop) Reset() error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(C.ggufx_stop_reset(sp, e), e)
}
