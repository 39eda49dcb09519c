// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// NoToken is no id.
const NoToken = -1

// Logprobs fills ids and logprobs, of equal length, with the likeliest tokens and the natural
// logarithms of their probabilities, and gives that of the token chosen, which may be NoToken.
// Errors: ARGUMENT, VALUE.
func (rt *Runtime) Logprobs(logits []float32, ids []int32, logprobs []float32,
	chosen int32) (float32, error) {
	if len(ids) != len(logprobs) {
		return 0, argument("%d ids, %d logprobs", len(ids), len(logprobs))
	}
	rtp, err := rt.enter()
	if err != nil {
		return 0, err
	}
	defer rt.leave()
	var one C.float
	of, e := &one, record()
	if chosen == NoToken {
		of = nil
	}
	err = done(C.ggufx_logprobs(ints(ids), floats(logprobs), C.size_t(len(ids)), of, rtp,
		floats(logits), C.size_t(len(logits)), C.int32_t(chosen), e), e)
	return float32(one), err
}

// Endings gives logarithms of the probabilities of several endings of one context, each summed over
// its tokens; watch may be nil. The session must be empty, and is so again afterwards. Errors:
// ARGUMENT, CANCELLED, CAPACITY, MEMORY, STATE, VALUE.
func (s *Session) Endings(context []int32, endings [][]int32, watch *Watch) ([]float64, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	var every []int32
	lengths := make([]C.size_t, len(endings)+1)
	for i, ending := range endings {
		every = append(every, ending...)
		lengths[i] = C.size_t(len(ending))
	}
	out := make([]float64, len(endings)+1)
	err = watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_endings((*C.double)(unsafe.Pointer(&out[0])), sp, ints(context),
			C.size_t(len(context)), ints(every), &lengths[0], C.size_t(len(endings)), user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return out[:len(endings)], nil
}

// CollectOptions of CollectImatrix; nil is the default.
type CollectOptions struct {
	Output  bool   // the matrix of the logits, too
	Dataset string // name of the text, for the file
	Watch   Watch
}

// CollectImatrix runs the model over tokens in chunks of nContext, bos (unless -1) in the first place
// of each, and adds up the squares of what its matrices are multiplied by. The session must be empty,
// and is so again afterwards. Errors: ARGUMENT, CANCELLED, MEMORY, STATE, VALUE.
func (s *Session) CollectImatrix(tokens []int32, nContext int, bos int32,
	options *CollectOptions) (*Imatrix, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	var o CollectOptions
	if options != nil {
		o = *options
	}
	flags := 0
	if o.Output {
		flags = CollectOutput
	}
	var name *C.char
	if o.Dataset != "" {
		name = C.CString(o.Dataset)
		defer C.free(unsafe.Pointer(name))
	}
	var m *C.ggufx_imatrix
	err = watched(&o.Watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_collect(&m, sp, ints(tokens), C.size_t(len(tokens)),
			C.uint32_t(nContext), C.int32_t(bos), C.uint32_t(flags), name, user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return &Imatrix{hold(unsafe.Pointer(m), destroyImatrix)}, nil
}
