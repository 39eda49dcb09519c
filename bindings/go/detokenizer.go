// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "errors"

// Detokenizer converts a stream of token ids to text and withholds incomplete characters. One
// goroutine at a time; there is nothing to close.
type Detokenizer struct {
	tokenizer *Tokenizer
	flags     DetokenizeFlags
	state     C.ggufx_detokenize_state
}

// NewDetokenizer starts at the beginning of a text.
func (t *Tokenizer) NewDetokenizer(flags DetokenizeFlags) *Detokenizer {
	return &Detokenizer{tokenizer: t, flags: flags &^ DetokenizeLast}
}

// Push returns the text of the next ids, without incomplete characters. Errors: ARGUMENT.
func (d *Detokenizer) Push(ids ...int32) (string, error) { return d.part(ids, d.flags) }

// Finish returns the withheld bytes; the next id starts a new text.
func (d *Detokenizer) Finish() (string, error) {
	rest, err := d.part(nil, d.flags|DetokenizeLast)
	if err == nil {
		d.state = C.ggufx_detokenize_state{}
	}
	return rest, err
}

func (d *Detokenizer) part(ids []int32, flags DetokenizeFlags) (string, error) {
	tp, err := d.tokenizer.enter()
	if err != nil {
		return "", err
	}
	defer d.tokenizer.leave()
	out, state := make([]byte, 8*len(ids)+8), d.state
	for {
		var needed C.size_t
		e := record()
		err := done(C.ggufx_detokenize_part((*C.char)(octets(out)), C.size_t(len(out)), &needed,
			&state, tp, ints(ids), C.size_t(len(ids)), C.uint32_t(flags), e), e)
		if err == nil {
			d.state = state
			return string(out[:needed]), nil
		}
		if !errors.Is(err, StatusCapacity) || int(needed) <= len(out) {
			return "", err
		}
		out = make([]byte, needed)
	}
}
