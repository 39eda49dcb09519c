// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

// Next writes the next tokens, at least one, to ids and returns their number. logprobs may be nil,
// and so may matcher and watch. The last id is not in the session yet.
//
// Errors: StatusArgument, StatusState, those of Session.Decode and Sampler.Sample; nothing has
// changed then.
func (s *Speculator) Next(ids []int32, logprobs []float32, sampler *Sampler, matcher *Matcher, watch *Watch) (int, error) {
	run := begin()
	defer run.end()
	cSpeculator, cSampler := s.enter(run, alone), sampler.enter(run, alone)
	var cMatcher *C.ggufx_matcher
	if matcher != nil {
		cMatcher = matcher.enter(run, alone)
	}
	run.equal("logprobs", len(logprobs), logprobs == nil, len(ids))
	if run.err != nil {
		return 0, run.err
	}
	for _, session := range s.holds {
		run.enter(session, "session", alone)
	}
	progress := run.watch(watch)
	if run.err != nil {
		return 0, run.err
	}
	n := slot[C.size_t](run)
	err := run.done(C.ggufx_speculator_next((*C.int32_t)(address(ids)), (*C.float)(address(logprobs)),
		C.size_t(len(ids)), n, cSpeculator, cSampler, cMatcher, progress, run.e))
	return int(*n), err
}
