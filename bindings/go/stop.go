// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"strings"
	"unsafe"
)

// Stop is a streaming search for stop strings; one call at a time.
type Stop struct{ *handle }

// StopInfo is the progress of the search; bytes from Shown to Taken are withheld.
type StopInfo struct {
	Found int    // index of the stop string found, -1: none yet
	Shown uint64 // fed bytes that belong to no stop string and cannot begin one
	Taken uint64 // bytes searched: all, or up to the end of the stop string found
}

// NewStop searches for stop strings of any bytes. Errors: ARGUMENT (its index is an empty stop
// string), LIMIT, MEMORY.
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

// Feed takes the next bytes. Errors: STATE (a stop string was found: Reset).
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

// Reset restarts for another text.
func (s *Stop) Reset() error {
	sp, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(C.ggufx_stop_reset(sp, e), e)
}
