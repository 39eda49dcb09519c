// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"io"
	"unsafe"
)

// Want says which logits of an item are computed.
type Want uint32

const (
	WantLast Want = iota // a row: those after its last token
	WantNone             // no row
	WantAll              // a row for each of its tokens
)

// BatchItem is tokens to append to a sequence.
type BatchItem struct {
	Sequence uint32 // another one in each item of a call
	Tokens   []int32
	Want     Want
	Mark     bool // cuts and copies come back to where the tokens end without computing again
}

// rows and flags of what an item wants.
func (item *BatchItem) wants() (rows int, flags C.uint32_t, err error) {
	switch item.Want {
	case WantLast:
		rows, flags = 1, C.GGUFX_BATCH_LOGITS
	case WantNone:
	case WantAll:
		rows, flags = len(item.Tokens), C.GGUFX_BATCH_ALL_LOGITS
	default:
		return 0, 0, argument("no such Want: %d", uint32(item.Want))
	}
	if item.Mark {
		flags |= C.GGUFX_BATCH_MARK
	}
	return rows, flags, nil
}

// BatchOptions of DecodeBatch; nil is the default.
type BatchOptions struct {
	MatmulFlags *MatmulFlags // of the products of this call; nil: those of the session
	Watch       Watch
}

// nativeItems copies items, and behind them their tokens, into memory of C's, which the caller frees:
// what is passed to C may point at no memory of Go's.
func nativeItems(items []BatchItem) (list unsafe.Pointer, rows int, err error) {
	tokens := 0
	for i := range items {
		tokens += len(items[i].Tokens)
	}
	const itemBytes, tokenBytes = unsafe.Sizeof(C.ggufx_batch_item{}), unsafe.Sizeof(int32(0))
	n := uintptr(len(items))*itemBytes + uintptr(tokens)*tokenBytes
	list = C.malloc(C.size_t(n + 1)) // never nil
	to := unsafe.Slice((*C.ggufx_batch_item)(list), len(items))
	at := unsafe.Add(list, uintptr(len(items))*itemBytes)
	for i := range items {
		item := &items[i]
		n, flags, err := item.wants()
		if err != nil {
			C.free(list)
			return nil, 0, err
		}
		copy(unsafe.Slice((*int32)(at), len(item.Tokens)), item.Tokens)
		to[i] = C.ggufx_batch_item{sequence: C.uint32_t(item.Sequence), flags: flags,
			tokens: (*C.int32_t)(at), n_tokens: C.size_t(len(item.Tokens))}
		at = unsafe.Add(at, uintptr(len(item.Tokens))*tokenBytes)
		rows += n
	}
	return list, rows, nil
}

// DecodeBatch appends tokens to many sequences, all or nothing, and gives the rows of logits that the
// items want, in their order: in logits, or nil: in a new slice. Errors: ARGUMENT and CAPACITY (Index:
// the item), CANCELLED, VALUE.
func (s *Session) DecodeBatch(items []BatchItem, logits []float32, options *BatchOptions) ([]float32, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	list, rows, err := nativeItems(items)
	if err != nil {
		return nil, err
	}
	defer C.free(list)
	if logits == nil {
		logits = make([]float32, rows*s.vocab)
	}
	var watch Watch
	var flags, matmul C.uint32_t
	if options != nil {
		watch = options.Watch
		if options.MatmulFlags != nil {
			flags, matmul = C.GGUFX_BATCH_MATMUL, C.uint32_t(*options.MatmulFlags)
		}
	}
	out := logits
	err = watched(&watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_decode_batch(unsafe.Pointer(sp), list, C.size_t(len(items)), floats(out),
			C.size_t(len(out)), flags, matmul, user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return logits, nil
}

// use runs a call whose result is its status alone.
func (s *Session) use(call func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status) error {
	p, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(call(p, e), e)
}

// SequenceLength gives the tokens of a sequence; 0 of one that there is not.
func (s *Session) SequenceLength(sequence uint32) uint64 {
	p, err := s.enter()
	if err != nil {
		return 0
	}
	defer s.leave()
	return uint64(C.ggufx_session_sequence_length(p, C.uint32_t(sequence)))
}

// TruncateSequence keeps the first nTokens of a sequence.
func (s *Session) TruncateSequence(sequence uint32, nTokens uint64) error {
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_sequence_truncate(unsafe.Pointer(p), C.uint32_t(sequence), C.uint64_t(nTokens), e)
	})
}

// CopySequence lets an empty sequence begin with the first nTokens of another one, whose memory they
// share. Errors: ARGUMENT, MEMORY, STATE.
func (s *Session) CopySequence(from, to uint32, nTokens uint64) error {
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_sequence_copy(p, C.uint32_t(from), C.uint32_t(to), C.uint64_t(nTokens), e)
	})
}

// SessionMemory is what the caches of a session take.
type SessionMemory struct {
	CacheBytes  uint64
	Pages       uint64 // of 64 tokens of a layer, used or not; shared ones count once
	SharedPages uint64 // places in sequences that hold a page others hold too
	Tokens      uint64 // of all sequences
}

// Memory tells what the caches take.
func (s *Session) Memory() (SessionMemory, error) {
	var out C.ggufx_session_memory_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err := s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_memory(&out, p, e)
	})
	return SessionMemory{uint64(out.cache_bytes), uint64(out.n_pages), uint64(out.n_shared_pages),
		uint64(out.n_tokens)}, err
}

// Save writes a snapshot of a sequence.
func (s *Session) Save(sequence uint32, to io.Writer) error {
	c := callbacks{write: func(_ int, data []byte) error {
		_, err := to.Write(data)
		return err
	}}
	return c.run(func(user C.uintptr_t) error {
		return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_session_save(p, C.uint32_t(sequence), user, e)
		})
	})
}

// Load replaces a sequence by a snapshot; whole or not at all.
func (s *Session) Load(sequence uint32, from io.Reader) error {
	c := callbacks{read: func(_ uint64, data []byte) error {
		_, err := io.ReadFull(from, data)
		return err
	}}
	return c.run(func(user C.uintptr_t) error {
		return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_session_load(p, C.uint32_t(sequence), user, e)
		})
	})
}

// SavePath writes a snapshot to a file, which is replaced whole or not at all.
func (s *Session) SavePath(sequence uint32, path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_save_path(p, C.uint32_t(sequence), text, e)
	})
}

// LoadPath is Load from a file.
func (s *Session) LoadPath(sequence uint32, path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_load_path(p, C.uint32_t(sequence), text, e)
	})
}
