// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Tokenizer turns text into ids and back; immutable, keeps its file's data alive.
type Tokenizer struct{ p *C.ggufx_tokenizer }

// NewTokenizer builds the tokenizer a file describes. Errors: MISSING, VOCAB, UNSUPPORTED, MEMORY.
func NewTokenizer(f *File) (*Tokenizer, error) {
	t, e := new(Tokenizer), record()
	err := done(C.ggufx_tokenizer_create(&t.p, f.ptr(), e), e)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(t, (*Tokenizer).Close)
	return t, nil
}

// Close drops the tokenizer.
func (t *Tokenizer) Close() error {
	if t.p != nil {
		runtime.SetFinalizer(t, nil)
		C.ggufx_tokenizer_destroy(t.p)
		t.p = nil
	}
	return nil
}

// TokenizerInfo describes a tokenizer; ids are -1 when there is none.
type TokenizerInfo struct {
	Kind              string
	Tokens            int
	Bos, Eos, Unknown int32
}

// Info describes the tokenizer.
func (t *Tokenizer) Info() (TokenizerInfo, error) {
	out, e := C.ggufx_tokenizer_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err := done(C.ggufx_tokenizer_info(&out, t.p, e), e)
	runtime.KeepAlive(t)
	if err != nil {
		return TokenizerInfo{}, err
	}
	return TokenizerInfo{C.GoString(out.kind), int(out.n_tokens), int32(out.bos), int32(out.eos),
		int32(out.unknown)}, nil
}

// TokenInfo describes a token.
type TokenInfo struct {
	Id    int32
	Flags TokenFlags
	Score float32
	Text  string // as stored in the file
}

// Token describes a token. Errors: ARGUMENT.
func (t *Tokenizer) Token(id int32) (TokenInfo, error) {
	out, e := C.ggufx_token_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if err := done(C.ggufx_token_info(&out, t.p, C.int32_t(id), e), e); err != nil {
		return TokenInfo{}, err
	}
	info := TokenInfo{int32(out.id), TokenFlags(out.flags), float32(out.score),
		string(view(out.text, out.text_length))}
	runtime.KeepAlive(t)
	return info, nil
}

// Encode gives the ids of a text.
func (t *Tokenizer) Encode(text string, flags TokenizeFlags) ([]int32, error) {
	bytes, ids := []byte(text), make([]int32, len(text)+2)
	for {
		from, n := chars(bytes)
		var needed C.size_t
		e := record()
		err := done(C.ggufx_tokenize(ints(ids), C.size_t(len(ids)), &needed, t.p, from, n,
			C.uint32_t(flags), e), e)
		runtime.KeepAlive(t)
		if err == nil {
			return ids[:needed], nil
		}
		if !errors.Is(err, StatusCapacity) || int(needed) <= len(ids) {
			return nil, err
		}
		ids = make([]int32, needed)
	}
}

// Decode gives the bytes of ids; one id may be part of a character.
func (t *Tokenizer) Decode(ids []int32, flags DetokenizeFlags) (string, error) {
	out := make([]byte, 8*len(ids)+1)
	for {
		var needed C.size_t
		e := record()
		err := done(C.ggufx_detokenize((*C.char)(octets(out)), C.size_t(len(out)), &needed, t.p,
			ints(ids), C.size_t(len(ids)), C.uint32_t(flags), e), e)
		runtime.KeepAlive(t)
		if err == nil {
			return string(out[:needed]), nil
		}
		if !errors.Is(err, StatusCapacity) || int(needed) <= len(out) {
			return "", err
		}
		out = make([]byte, needed)
	}
}
