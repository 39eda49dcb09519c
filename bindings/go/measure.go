// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"io"
	"unsafe"
)

// NoToken is no id.
const NoToken = -1

// Logprobs fills ids and logprobs, of equal length, with the likeliest tokens and the natural
// logarithms of their probabilities, and returns that of the sampled token, which may be NoToken.
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

// Measure holds the perplexity of a text and its KL divergence from saved logits; the members of
// the latter are 0 without saved logits. Members that end in Error are standard errors.
type Measure struct {
	Compared, SameModel               bool
	Perplexity, StandardError         float64
	Chunks, Tokens, Scored            uint64
	BasePerplexity, BaseError         float64 // perplexity of the saved logits
	LogRatio, LogRatioError           float64 // log(Perplexity / BasePerplexity)
	KL, KLError                       float64 // mean divergence of a prediction from the saved one
	KLMedian, KLMedianError           float64
	KL99, KL99Error                   float64 // 99 of 100 are below
	KLMax                             float64
	SameTop, SameTopError             float64 // share of predictions with the same likeliest token
	RmsDifference, RmsDifferenceError float64 // RMS, of the actual tokens' probabilities
}

func measureOf(m *C.ggufx_measure_facts) *Measure {
	return &Measure{
		Compared:   m.flags&C.GGUFX_MEASURE_COMPARED != 0,
		SameModel:  m.flags&C.GGUFX_MEASURE_SAME_MODEL != 0,
		Perplexity: float64(m.perplexity), StandardError: float64(m.standard_error),
		Chunks: uint64(m.n_chunks), Tokens: uint64(m.n_tokens), Scored: uint64(m.n_scored),
		BasePerplexity: float64(m.base_perplexity), BaseError: float64(m.base_error),
		LogRatio: float64(m.log_ratio), LogRatioError: float64(m.log_ratio_error),
		KL: float64(m.kl), KLError: float64(m.kl_error),
		KLMedian: float64(m.kl_median), KLMedianError: float64(m.kl_median_error),
		KL99: float64(m.kl_99), KL99Error: float64(m.kl_99_error), KLMax: float64(m.kl_max),
		SameTop: float64(m.same_top), SameTopError: float64(m.same_top_error),
		RmsDifference: float64(m.rms_dp), RmsDifferenceError: float64(m.rms_dp_error),
	}
}

// MeasureOptions of Measure; nil is the default.
type MeasureOptions struct {
	Stride   int                 // stride between the starts of chunks in tokens; 0: no overlap
	SavePath string              // destination of the logits of all predictions,
	Save     io.Writer           // or this
	BasePath string              // saved ones to compare with,
	Base     io.Reader           // or this
	Report   func(*Measure) bool // sees the running result after each chunk; false stops
	Watch    Watch
}

// callbacks of a measurement, and which of them there are.
func (o *MeasureOptions) callbacks() (callbacks, C.int) {
	c, what := callbacks{watch: o.Watch, measure: o.Report}, C.int(0)
	if o.Save != nil {
		what |= C.GGUFX_GO_SAVES
		c.write = func(_ int, data []byte) error {
			_, err := o.Save.Write(data)
			return err
		}
	}
	if o.Base != nil {
		what |= C.GGUFX_GO_COMPARES
		c.read = func(_ uint64, data []byte) error {
			_, err := io.ReadFull(o.Base, data)
			return err
		}
	}
	if o.Report != nil {
		what |= C.GGUFX_GO_REPORTS
	}
	if !o.Watch.unset() {
		what |= C.GGUFX_GO_WATCHES
	}
	return c, what
}

func pathOf(path string) *C.char {
	if path == "" {
		return nil
	}
	return C.CString(path)
}

// Measure scores tokens in chunks of nContext, bos (unless -1) first in each, and compares their
// predictions with saved ones. The session must be empty; it is empty again afterwards. Errors:
// ARGUMENT, CANCELLED, MEMORY, STATE, VALUE; of saved logits IO, TRUNCATED, MAGIC, VERSION,
// MALFORMED, CHECKSUM, MISMATCH.
func (s *Session) Measure(tokens []int32, nContext int, bos int32, options *MeasureOptions) (*Measure, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	var o MeasureOptions
	if options != nil {
		o = *options
	}
	save, base := pathOf(o.SavePath), pathOf(o.BasePath)
	defer C.free(unsafe.Pointer(save))
	defer C.free(unsafe.Pointer(base))
	var out C.ggufx_measure_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	c, what := o.callbacks()
	err = c.run(func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_measure(&out, sp, ints(tokens), C.size_t(len(tokens)), C.uint32_t(nContext),
			C.int32_t(bos), C.uint32_t(o.Stride), save, base, what, user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return measureOf(&out), nil
}

// Endings returns the log-probabilities of several continuations of one context, each summed over
// its tokens; watch may be nil. The session must be empty; it is empty again afterwards. Errors:
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

// CollectImatrix runs the model over tokens in chunks of nContext, bos (unless -1) first in each,
// and sums the squares of the inputs of its matrices. The session must be empty; it is empty again
// afterwards. Errors: ARGUMENT, CANCELLED, MEMORY, STATE, VALUE.
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
		flags = C.GGUFX_COLLECT_OUTPUT
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
