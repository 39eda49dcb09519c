// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

// Detokenizer converts a stream of token ids to text and withholds incomplete characters. One
// goroutine at a time; there is nothing to close.
type Detokenizer struct {
	tokenizer *Tokenizer
	flags     DetokenizeFlags
	state     C.ggufx_detokenizer_state
}

// NewDetokenizer starts at the beginning of a text.
func (t *Tokenizer) NewDetokenizer(flags DetokenizeFlags) *Detokenizer {
	return &Detokenizer{tokenizer: t, flags: flags &^ DetokenizeFlush}
}

// Push returns the text of the next ids, without incomplete characters.
//
// Errors: StatusArgument, StatusMemory.
func (d *Detokenizer) Push(ids ...int32) (string, error) { return d.part(ids, d.flags) }

// Finish returns the withheld bytes; the next id starts a new text.
func (d *Detokenizer) Finish() (string, error) {
	rest, err := d.part(nil, d.flags|DetokenizeFlush)
	if err == nil {
		d.state = C.ggufx_detokenizer_state{}
	}
	return rest, err
}

func (d *Detokenizer) part(ids []int32, flags DetokenizeFlags) (string, error) {
	run := begin()
	defer run.end()
	cTokenizer := d.tokenizer.enter(run, shared)
	if run.err != nil {
		return "", run.err
	}
	d.state.flags = C.uint32_t(flags)
	needed := slot[C.size_t](run)
	out := make([]byte, 8*len(ids)+8)
	for {
		err := run.done(C.ggufx_detokenize_stream((*C.char)(address(out)), C.size_t(len(out)), needed, &d.state,
			cTokenizer, (*C.int32_t)(address(ids)), C.size_t(len(ids)), run.e))
		if err == nil {
			return string(out[:*needed]), nil
		}
		if !grow(&out, int(*needed), err) {
			return "", err
		}
	}
}
