// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Grammar constrains texts over a vocabulary; immutable.
type Grammar struct{ *handle }

// NewGrammar compiles GBNF. Errors: ARGUMENT, LIMIT, MALFORMED, MEMORY, UNSUPPORTED, VALUE.
func (rt *Runtime) NewGrammar(t *Tokenizer, gbnf string) (*Grammar, error) {
	return rt.newGrammar(t, C.GGUFX_GRAMMAR_GBNF, gbnf, 0)
}

// NewJSONGrammar accepts the JSON that matches a schema. Errors as NewGrammar; a keyword that is
// not supported is named with its path.
func (rt *Runtime) NewJSONGrammar(t *Tokenizer, schema string, flags GrammarFlags) (*Grammar, error) {
	return rt.newGrammar(t, C.GGUFX_GRAMMAR_JSON_SCHEMA, schema, int(flags))
}

func (rt *Runtime) newGrammar(t *Tokenizer, kind int, text string, flags int) (*Grammar, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	tp, err := t.enter()
	if err != nil {
		return nil, err
	}
	defer t.leave()
	from, n := chars([]byte(text))
	var g *C.ggufx_grammar
	e := record()
	err = done(C.ggufx_go_grammar(&g, rtp, tp, C.uint32_t(kind), from, n, C.uint32_t(flags), e), e)
	if err != nil {
		return nil, err
	}
	return &Grammar{hold(unsafe.Pointer(g), destroyGrammar)}, nil
}

// Close drops the grammar; matchers keep theirs.
func (g *Grammar) Close() error {
	if g == nil {
		return nil
	}
	return g.close()
}

func (g *Grammar) enter() (*C.ggufx_grammar, error) {
	if g == nil {
		return nil, argument("no grammar")
	}
	p, err := g.handle.enter("grammar")
	return (*C.ggufx_grammar)(p), err
}

func destroyGrammar(p unsafe.Pointer) { C.ggufx_grammar_destroy((*C.ggufx_grammar)(p)) }

// Matcher is the state of a text in a grammar; one call at a time.
type Matcher struct{ *handle }

// MatcherInfo is the state of a matcher.
type MatcherInfo struct {
	Whole  bool   // the text is complete: it may end here
	Ended  bool   // a token that ends a generation was accepted
	Tokens uint64 // accepted and not taken back
	Vocab  int    // tokens of the vocabulary
	Words  int    // words of a mask
}

// NewMatcher starts at the beginning of a text. Errors: ARGUMENT, LIMIT, MEMORY.
func (g *Grammar) NewMatcher() (*Matcher, error) {
	gp, err := g.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave()
	var m *C.ggufx_matcher
	e := record()
	err = done(C.ggufx_matcher_create(&m, gp, e), e)
	if err != nil {
		return nil, err
	}
	return &Matcher{hold(unsafe.Pointer(m), destroyMatcher)}, nil
}

// Clone returns a copy in the same state, with the same rollback depth. Errors: MEMORY.
func (m *Matcher) Clone() (*Matcher, error) {
	mp, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer m.leave()
	var other *C.ggufx_matcher
	e := record()
	err = done(C.ggufx_matcher_clone(&other, mp, e), e)
	if err != nil {
		return nil, err
	}
	return &Matcher{hold(unsafe.Pointer(other), destroyMatcher)}, nil
}

// Close frees the matcher.
func (m *Matcher) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}

func (m *Matcher) enter() (*C.ggufx_matcher, error) {
	if m == nil {
		return nil, argument("no matcher")
	}
	p, err := m.handle.enter("matcher")
	return (*C.ggufx_matcher)(p), err
}

func destroyMatcher(p unsafe.Pointer) { C.ggufx_matcher_destroy((*C.ggufx_matcher)(p)) }

// Info returns the current state.
func (m *Matcher) Info() (MatcherInfo, error) {
	mp, err := m.enter()
	if err != nil {
		return MatcherInfo{}, err
	}
	defer m.leave()
	out, e := C.ggufx_matcher_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_matcher_info(&out, mp, e), e)
	if err != nil {
		return MatcherInfo{}, err
	}
	return MatcherInfo{out.flags&C.GGUFX_MATCHER_WHOLE != 0, out.flags&C.GGUFX_MATCHER_ENDED != 0,
		uint64(out.n_tokens), int(out.n_vocab), int(out.n_words)}, nil
}

// Accept advances by tokens, all of them or none. Errors: ARGUMENT, LIMIT, MEMORY, VALUE (its index
// is the first that does not fit).
func (m *Matcher) Accept(ids ...int32) error {
	mp, err := m.enter()
	if err != nil {
		return err
	}
	defer m.leave()
	e := record()
	return done(C.ggufx_matcher_accept(mp, ints(ids), C.size_t(len(ids)), e), e)
}

// Rollback undoes the last tokens. Errors: ARGUMENT.
func (m *Matcher) Rollback(n uint64) error {
	mp, err := m.enter()
	if err != nil {
		return err
	}
	defer m.leave()
	e := record()
	return done(C.ggufx_matcher_rollback(mp, C.uint64_t(n), e), e)
}

// Mask returns the allowed next tokens: bit id % 32 of word id / 32; words after the vocabulary
// become 0. Errors: CAPACITY, LIMIT, MEMORY, MISMATCH, STATE.
func (m *Matcher) Mask(out []uint32) error {
	mp, err := m.enter()
	if err != nil {
		return err
	}
	defer m.leave()
	e := record()
	return done(C.ggufx_matcher_mask(words(out), C.size_t(len(out)), mp, e), e)
}

// SampleMatching samples an id that the matcher accepts, and returns its log-probability among all
// tokens.
func (s *Sampler) SampleMatching(m *Matcher, logits []float32) (id int32, logprob float32, err error) {
	sp, err := s.enter()
	if err != nil {
		return 0, 0, err
	}
	defer s.leave()
	mp, err := m.enter()
	if err != nil {
		return 0, 0, err
	}
	defer m.leave()
	e := record()
	out := C.ggufx_go_sample_matching(unsafe.Pointer(sp), unsafe.Pointer(mp), floats(logits), C.size_t(len(logits)), e)
	err = done(out.status, e)
	s.repanic()
	return int32(out.id), float32(out.logprob), err
}
