// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"io"
	"unsafe"
)

// Want selects the logits of an item to compute.
type Want uint32

const (
	WantLast Want = iota // one row: the logits after its last token
	WantNone             // no row
	WantAll              // a row for each of its tokens
)

// BatchItem is tokens to append to a sequence.
type BatchItem struct {
	Sequence uint32 // another one in each item of a call
	Tokens   []int32
	Want     Want
	Mark     bool // sets a checkpoint at the end of these tokens
	// Embedding rows for the first layer instead of those of the tokens; nil: the tokens' own.
	// Without Tokens, the number of Rows counts.
	Rows      []float32
	Positions []int32 // ascending, one for each token; nil: without gaps
	Hidden    Hidden
}

// Hidden selects the hidden states of an item to return, those after the last norm.
type Hidden uint32

const (
	HiddenNone Hidden = iota // no row
	HiddenLast               // hidden state of its last token
	HiddenAll                // a row for each of its tokens
)

// shape of a batch: size of its C memory, and number of result rows.
type batchShape struct {
	ids, positions, floats int
	logits, hidden         int
}

// tokens of an item, whose rows have a width.
func (item *BatchItem) tokens(width int) (int, error) {
	n := len(item.Tokens)
	if n == 0 && len(item.Rows) > 0 {
		n = len(item.Rows) / width
	}
	if item.Positions != nil && len(item.Positions) != n {
		return 0, argument("%d positions of %d tokens", len(item.Positions), n)
	}
	return n, nil
}

// flags of what an item of n tokens wants, which is added to the shape.
func (item *BatchItem) wants(n int, shape *batchShape) (flags C.uint32_t, err error) {
	switch item.Want {
	case WantLast:
		shape.logits, flags = shape.logits+1, C.GGUFX_BATCH_LOGITS
	case WantNone:
	case WantAll:
		shape.logits, flags = shape.logits+n, C.GGUFX_BATCH_ALL_LOGITS
	default:
		return 0, argument("no such Want: %d", uint32(item.Want))
	}
	switch item.Hidden {
	case HiddenNone:
	case HiddenLast:
		shape.hidden, flags = shape.hidden+1, flags|C.GGUFX_BATCH_EMBED
	case HiddenAll:
		shape.hidden, flags = shape.hidden+n, flags|C.GGUFX_BATCH_ALL_EMBED
	default:
		return 0, argument("no such Hidden: %d", uint32(item.Hidden))
	}
	if item.Mark {
		flags |= C.GGUFX_BATCH_MARK
	}
	return flags, nil
}

// BatchOptions of DecodeBatch; nil is the default.
type BatchOptions struct {
	MatmulFlags *MatmulFlags // matmul flags of this call; nil: the session's
	Hidden      []float32    // filled with the hidden states that the items want
	Watch       Watch
}

// place copies numbers to C memory and advances past them; NULL if there are none.
func place[T int32 | float32](at *unsafe.Pointer, from []T) unsafe.Pointer {
	if len(from) == 0 {
		return nil
	}
	to := *at
	copy(unsafe.Slice((*T)(to), len(from)), from)
	*at = unsafe.Add(to, uintptr(len(from))*unsafe.Sizeof(from[0]))
	return to
}

// nativeItems copies items, followed by their data, into C memory, which the caller frees: cgo does
// not allow pointers to Go memory within it.
func nativeItems(items []BatchItem, width int) (list unsafe.Pointer, shape batchShape, err error) {
	n := uintptr(len(items)) * unsafe.Sizeof(C.ggufx_batch_item{})
	for i := range items {
		n += 4 * uintptr(len(items[i].Tokens)+len(items[i].Positions)+len(items[i].Rows))
	}
	list = C.malloc(C.size_t(n + 1)) // never nil
	to := unsafe.Slice((*C.ggufx_batch_item)(list), len(items))
	at := unsafe.Add(list, uintptr(len(items))*unsafe.Sizeof(C.ggufx_batch_item{}))
	for i := range items {
		item := &items[i]
		tokens, err := item.tokens(width)
		var flags C.uint32_t
		if err == nil {
			flags, err = item.wants(tokens, &shape)
		}
		if err != nil {
			C.free(list)
			return nil, shape, err
		}
		to[i] = C.ggufx_batch_item{sequence: C.uint32_t(item.Sequence), flags: flags,
			tokens: (*C.int32_t)(place(&at, item.Tokens)), n_tokens: C.size_t(tokens),
			embeddings:   (*C.float)(place(&at, item.Rows)),
			n_embeddings: C.size_t(len(item.Rows)),
			positions:    (*C.int32_t)(place(&at, item.Positions))}
	}
	return list, shape, nil
}

// DecodeBatch appends tokens to many sequences, all or nothing, and returns the rows of logits that
// the items request, in their order: in logits, or nil: in a new slice. Errors: ARGUMENT and
// CAPACITY (Index: the item), CANCELLED, VALUE.
func (s *Session) DecodeBatch(items []BatchItem, logits []float32, options *BatchOptions) ([]float32, error) {
	sp, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer s.leave()
	list, shape, err := nativeItems(items, s.width)
	if err != nil {
		return nil, err
	}
	defer C.free(list)
	if logits == nil {
		logits = make([]float32, shape.logits*s.vocab)
	}
	var watch Watch
	var flags, matmul C.uint32_t
	var hidden []float32
	if options != nil {
		watch, hidden = options.Watch, options.Hidden
		if options.MatmulFlags != nil {
			flags, matmul = C.GGUFX_BATCH_MATMUL, C.uint32_t(*options.MatmulFlags)
		}
	}
	out := logits
	err = watched(&watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_decode_batch(unsafe.Pointer(sp), list, C.size_t(len(items)), floats(out),
			C.size_t(len(out)), floats(hidden), C.size_t(len(hidden)), flags, matmul, user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return logits, nil
}

// use runs a call that returns only a status.
func (s *Session) use(call func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status) error {
	p, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave()
	e := record()
	return done(call(p, e), e)
}

// SequenceLength returns the number of tokens in a sequence; 0 if it does not exist.
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

// RemoveTokens takes tokens first .. first + nTokens - 1 out; later tokens keep their positions and
// cache entries. Errors: ARGUMENT, MEMORY, STATE, UNSUPPORTED.
func (s *Session) RemoveTokens(sequence uint32, first, nTokens uint64) error {
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_sequence_remove(p, C.uint32_t(sequence), C.uint64_t(first), C.uint64_t(nTokens), e)
	})
}

// ShiftTokens adds delta to positions of tokens first .. first + nTokens - 1. Errors: ARGUMENT,
// MEMORY, STATE, UNSUPPORTED.
func (s *Session) ShiftTokens(sequence uint32, first, nTokens uint64, delta int32) error {
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_sequence_shift(p, C.uint32_t(sequence), C.uint64_t(first), C.uint64_t(nTokens),
			C.int32_t(delta), e)
	})
}

// Tokens returns the ids of a sequence, and their positions.
func (s *Session) Tokens(sequence uint32) (ids, positions []int32, err error) {
	err = s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		n := uint64(C.ggufx_session_sequence_length(p, C.uint32_t(sequence)))
		ids, positions = make([]int32, n), make([]int32, n)
		return C.ggufx_session_sequence_tokens(ints(ids), ints(positions), p, C.uint32_t(sequence), 0,
			C.uint64_t(n), e)
	})
	return ids, positions, err
}

// CopySequence copies the first nTokens of a sequence into an empty one; they share memory. Errors:
// ARGUMENT, MEMORY, STATE.
func (s *Session) CopySequence(from, to uint32, nTokens uint64) error {
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_sequence_copy(p, C.uint32_t(from), C.uint32_t(to), C.uint64_t(nTokens), e)
	})
}

// SessionMemory is the memory of a session's KV caches.
type SessionMemory struct {
	CacheBytes  uint64
	Pages       uint64 // pages of 64 tokens of a layer, used or not; shared ones count once
	SharedPages uint64 // references to pages that other sequences hold, too
	Tokens      uint64 // sum over all sequences
	TokensLeft  uint64 // with ContextTotal: for which memory is left, in whole pages
	RowBytes    uint64 // taken for rows that were given
}

// Memory returns the memory of the KV caches.
func (s *Session) Memory() (SessionMemory, error) {
	var out C.ggufx_session_memory_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err := s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_memory(&out, p, e)
	})
	return SessionMemory{uint64(out.cache_bytes), uint64(out.n_pages), uint64(out.n_shared_pages),
		uint64(out.n_tokens), uint64(out.n_tokens_left), uint64(out.embedded_bytes)}, err
}

// Save writes a snapshot of a sequence, or of SessionAll.
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

// Load replaces a sequence, or all, by a snapshot; whole or not at all.
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
