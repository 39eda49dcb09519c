// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Tokenizer turns text into ids and back; immutable, keeps its file's data alive.
type Tokenizer struct{ *handle }

// NewTokenizer builds the tokenizer a file describes. Errors: MISSING, VOCAB, UNSUPPORTED, MEMORY.
func NewTokenizer(f *File) (*Tokenizer, error) {
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	var t *C.ggufx_tokenizer
	e := record()
	err = done(C.ggufx_tokenizer_create(&t, fp, e), e)
	if err != nil {
		return nil, err
	}
	return &Tokenizer{hold(unsafe.Pointer(t), destroyTokenizer)}, nil
}

// Close drops the tokenizer.
func (t *Tokenizer) Close() error {
	if t == nil {
		return nil
	}
	return t.close()
}

func (t *Tokenizer) enter() (*C.ggufx_tokenizer, error) {
	if t == nil {
		return nil, argument("no tokenizer")
	}
	p, err := t.handle.enter("tokenizer")
	return (*C.ggufx_tokenizer)(p), err
}

func destroyTokenizer(p unsafe.Pointer) { C.ggufx_tokenizer_destroy((*C.ggufx_tokenizer)(p)) }

// TokenizerInfo describes a tokenizer; ids are -1 when there is none.
type TokenizerInfo struct {
	Kind              string
	Tokens            int
	Bos, Eos, Unknown int32
	Flags             TokenizerFlags
	Pre               string // pre-tokenizer of byte-level BPE, "llama-bpe"
}

// Info describes the tokenizer.
func (t *Tokenizer) Info() (TokenizerInfo, error) {
	tp, err := t.enter()
	if err != nil {
		return TokenizerInfo{}, err
	}
	defer t.leave()
	out, e := C.ggufx_tokenizer_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_tokenizer_info(&out, tp, e), e)
	if err != nil {
		return TokenizerInfo{}, err
	}
	return TokenizerInfo{C.GoString(out.kind), int(out.n_tokens), int32(out.bos), int32(out.eos),
		int32(out.unknown), TokenizerFlags(out.flags), C.GoString(out.pre)}, nil
}

// Special returns the id of a special token, by its key, else by its text; -1 when there is none.
func (t *Tokenizer) Special(which SpecialToken) (int32, error) {
	tp, err := t.enter()
	if err != nil {
		return -1, err
	}
	defer t.leave()
	return int32(C.ggufx_tokenizer_special(tp, C.uint32_t(which))), nil
}

// TokenInfo describes a token.
type TokenInfo struct {
	ID    int32
	Flags TokenFlags
	Score float32
	Text  string // as stored in the file
}

// Token describes a token. Errors: ARGUMENT.
func (t *Tokenizer) Token(id int32) (TokenInfo, error) {
	tp, err := t.enter()
	if err != nil {
		return TokenInfo{}, err
	}
	defer t.leave()
	out, e := C.ggufx_token_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if err := done(C.ggufx_token_info(&out, tp, C.int32_t(id), e), e); err != nil {
		return TokenInfo{}, err
	}
	info := TokenInfo{int32(out.id), TokenFlags(out.flags), float32(out.score),
		string(view(out.text, out.text_length))}
	return info, nil
}

// Encode returns the token ids of a text.
func (t *Tokenizer) Encode(text string, flags TokenizeFlags) ([]int32, error) {
	tp, err := t.enter()
	if err != nil {
		return nil, err
	}
	defer t.leave()
	bytes, ids := []byte(text), make([]int32, len(text)+2)
	for {
		from, n := chars(bytes)
		var needed C.size_t
		e := record()
		err := done(C.ggufx_tokenize(ints(ids), C.size_t(len(ids)), &needed, tp, from, n,
			C.uint32_t(flags), e), e)
		if err == nil {
			return ids[:needed], nil
		}
		if !errors.Is(err, StatusCapacity) || int(needed) <= len(ids) {
			return nil, err
		}
		ids = make([]int32, needed)
	}
}

// Decode returns the bytes of ids; one id may be part of a character.
func (t *Tokenizer) Decode(ids []int32, flags DetokenizeFlags) (string, error) {
	tp, err := t.enter()
	if err != nil {
		return "", err
	}
	defer t.leave()
	out := make([]byte, 8*len(ids)+1)
	for {
		var needed C.size_t
		e := record()
		err := done(C.ggufx_detokenize((*C.char)(octets(out)), C.size_t(len(out)), &needed, tp,
			ints(ids), C.size_t(len(ids)), C.uint32_t(flags), e), e)
		if err == nil {
			return string(out[:needed]), nil
		}
		if !errors.Is(err, StatusCapacity) || int(needed) <= len(out) {
			return "", err
		}
		out = make([]byte, needed)
	}
}
