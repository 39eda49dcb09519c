// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import "unsafe"

// AttentionView holds the inputs and outputs of a layer's attention; its slices are valid during
// the call, of the shapes that LayerFacts tells: Q and Out [Tokens][Heads][HeadDimK, HeadDimV], K
// and V [Tokens][KVHeads][HeadDimK, HeadDimV]; V is empty if values are part of the keys
// (LayerVInK).
type AttentionView struct {
	Layer        uint32
	FirstToken   uint64
	Tokens       int
	Q, K, V, Out []float32
}

// DecodeOptions of Decode; nil is the default.
type DecodeOptions struct {
	AllLogits []float32                 // filled with the logits of every token
	Attention func(AttentionView) error // ends the decode with its error
	Watch     Watch
}

// attention is the hook of one call.
type attention struct {
	model *C.ggufx_model
	call  func(AttentionView) error
}

// model that a session was made from, which it holds.
func (s *Session) model() *C.ggufx_model { return (*C.ggufx_model)(s.holds[0].p) }

func (s *Session) modelFacts(run *running) *C.ggufx_model_facts {
	facts := alloc[C.ggufx_model_facts](run, 1)
	facts.struct_size = C.sizeof_ggufx_model_facts
	C.ggufx_model_info(facts, s.model(), nil)
	return facts
}

// Decode appends tokens and computes the logits after the last one; all or nothing.
//
// Errors: StatusArgument, StatusCapacity, StatusCancelled, StatusValue.
func (s *Session) Decode(tokens []int32, options *DecodeOptions) error {
	run := begin()
	defer run.end()
	cSession := s.enter(run, alone)
	if run.err != nil {
		return run.err
	}
	var o DecodeOptions
	if options != nil {
		o = *options
	}
	to := alloc[C.ggufx_decode_options](run, 1)
	to.struct_size = C.sizeof_ggufx_decode_options
	to.progress = run.watch(&o.Watch)
	if o.AllLogits != nil {
		to.flags = C.GGUFX_DECODE_ALL_LOGITS
	}
	if o.Attention != nil {
		hook := alloc[C.ggufx_attention_hook](run, 1)
		to.attention = hook
		hook.struct_size = C.sizeof_ggufx_attention_hook
		hook.layer, hook.user = run.callback(attention{s.model(), o.Attention}, C.ggufxGoLayer)
	}
	return run.done(C.ggufx_go_decode(cSession, (*C.int32_t)(address(tokens)), C.size_t(len(tokens)),
		(*C.float)(address(o.AllLogits)), C.size_t(len(o.AllLogits)), to, run.e))
}

//export ggufxGoLayer
func ggufxGoLayer(user unsafe.Pointer, layer C.uint32_t, first C.uint64_t, n C.size_t, q, k, v, out *C.float) C.int32_t {
	f, set := functionOf[attention](user)
	return C.int32_t(set.guard(false, func() error {
		var facts C.ggufx_layer_facts
		facts.struct_size = C.sizeof_ggufx_layer_facts
		C.ggufx_model_layer(&facts, f.model, layer, nil)
		floats := func(p *C.float, heads, dim C.uint32_t) []float32 {
			return unsafe.Slice((*float32)(unsafe.Pointer(p)), int(n)*int(heads)*int(dim))
		}
		view := AttentionView{Layer: uint32(layer), FirstToken: uint64(first), Tokens: int(n),
			Q: floats(q, facts.n_heads, facts.head_dim_k), K: floats(k, facts.n_kv_heads, facts.head_dim_k),
			Out: floats(out, facts.n_heads, facts.head_dim_v)}
		if LayerFlags(facts.flags)&LayerVInK == 0 {
			view.V = floats(v, facts.n_kv_heads, facts.head_dim_v)
		}
		return f.call(view)
	}))
}

// Want selects the logits of an item to compute.
type Want uint32

const (
	WantLast Want = iota // one row: the logits after its last token
	WantNone             // no row
	WantAll              // a row for each of its tokens
)

// Hidden selects the hidden states of an item to return, those after the last norm.
type Hidden uint32

const (
	HiddenNone Hidden = iota // no row
	HiddenLast               // hidden state of its last token
	HiddenAll                // a row for each of its tokens
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

// BatchOptions of DecodeBatch; nil is the default.
type BatchOptions struct {
	MatmulFlags *MatmulFlags // matmul flags of this call; nil: the session's
	Hidden      []float32    // filled with the rows that items request by Hidden
	Watch       Watch
}

// write fills in an item of rows of a width, and counts the rows of its results.
func (item *BatchItem) write(run *running, to *C.ggufx_batch_item, width int, logits, hidden *int) {
	n := len(item.Tokens)
	if n == 0 && len(item.Rows) > 0 {
		n = len(item.Rows) / width
	}
	run.equal("Positions", len(item.Positions), item.Positions == nil, n)
	if item.Want > WantAll || item.Hidden > HiddenAll {
		run.fail(argument("no such Want or Hidden: %d, %d", item.Want, item.Hidden))
		return
	}
	rows := [3]int{0, 1, n}
	wanted := [3]int{1, 0, 2}[item.Want]
	*logits += rows[wanted]
	*hidden += rows[item.Hidden]
	flags := [3]BatchFlags{0, BatchLogits, BatchAllLogits}[wanted] | [3]BatchFlags{0, BatchEmbed, BatchAllEmbed}[item.Hidden]
	if item.Mark {
		flags |= BatchMark
	}
	to.sequence, to.flags = C.uint32_t(item.Sequence), C.uint32_t(flags)
	to.tokens, to.n_tokens = (*C.int32_t)(place(run, item.Tokens)), C.size_t(n)
	to.embeddings, to.n_embeddings = (*C.float)(place(run, item.Rows)), C.size_t(len(item.Rows))
	to.positions = (*C.int32_t)(place(run, item.Positions))
}

// DecodeBatch appends tokens to many sequences, all or nothing, and returns the rows of logits that
// the items request, in their order: in logits, or nil: in a new slice.
//
// Errors: StatusArgument and StatusCapacity (Index: the item), StatusCancelled, StatusValue.
func (s *Session) DecodeBatch(items []BatchItem, logits []float32, options *BatchOptions) ([]float32, error) {
	run := begin()
	defer run.end()
	cSession := s.enter(run, alone)
	if run.err != nil {
		return nil, run.err
	}
	model, cItems, nLogits, nHidden := s.modelFacts(run), alloc[C.ggufx_batch_item](run, len(items)), 0, 0
	for i := range items {
		items[i].write(run, &unsafe.Slice(cItems, len(items))[i], int(model.n_embedding), &nLogits, &nHidden)
	}
	if logits == nil {
		logits = make([]float32, nLogits*int(model.n_vocab))
	}
	var o BatchOptions
	if options != nil {
		o = *options
	}
	to := alloc[C.ggufx_batch_options](run, 1)
	to.struct_size, to.item_size = C.sizeof_ggufx_batch_options, C.sizeof_ggufx_batch_item
	to.progress = run.watch(&o.Watch)
	if o.MatmulFlags != nil {
		to.flags, to.matmul_flags = C.GGUFX_BATCH_MATMUL, C.uint32_t(*o.MatmulFlags)
	}
	if run.err != nil {
		return nil, run.err
	}
	err := run.done(C.ggufx_go_decode_batch(cSession, cItems, C.size_t(len(items)), (*C.float)(address(logits)),
		C.size_t(len(logits)), (*C.float)(address(o.Hidden)), C.size_t(len(o.Hidden)), to, run.e))
	if err != nil {
		return nil, err
	}
	return logits, nil
}

// EmbedTexts returns a row of Dimensions values for each text, with PoolingNone for each token that
// is used.
//
// Errors: as Embed.
func (e *Embedder) EmbedTexts(texts [][]int32, watch *Watch) ([]float32, error) {
	info, err := e.Info()
	if err != nil {
		return nil, err
	}
	var tokens []int32
	lengths, rows := make([]uint, len(texts)), 0
	for i, text := range texts {
		tokens, lengths[i] = append(tokens, text...), uint(len(text))
		switch {
		case info.Pooling != PoolingNone:
			rows++
		case len(text) < int(info.Context):
			rows += len(text)
		default:
			rows += int(info.Context)
		}
	}
	out := make([]float32, rows*int(info.Dimensions))
	return out, e.Embed(out, tokens, lengths, watch)
}
