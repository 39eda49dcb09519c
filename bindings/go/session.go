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

//export ggufxGoLayer
func ggufxGoLayer(user unsafe.Pointer, layer C.uint32_t, first C.uint64_t, n C.size_t, q, k, v, out *C.float) C.int32_t {
	f, set := functionOf[attention](user)
	return C.int32_t(set.guard(false, func() error {
		var facts C.ggufx_layer_facts
		facts.struct_size = C.sizeof_ggufx_layer_facts
		C.ggufx_model_layer_info(&facts, f.model, layer, nil)
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

// DecodeOptions of Decode; nil is the default.
type DecodeOptions struct {
	MatmulFlags *MatmulFlags // matmul flags of this call; nil: the session's
	Hidden      []float32    // filled with the hidden states that items request
	Watch       Watch
	Attention   func(AttentionView) error // for one item; ends the decode with its error
}

// rows that items request: one with a flag, or one for each token with another.
func rows(items []C.ggufx_decode_item, last, all DecodeFlags) (n int) {
	for _, item := range items {
		switch flags := DecodeFlags(item.flags); {
		case flags&all != 0:
			n += int(item.n_tokens)
		case flags&last != 0:
			n++
		}
	}
	return n
}

// Decode appends tokens to many sequences, all or nothing, and returns the rows of logits that
// the items request, in their order: in logits, or nil: in a new slice. Without Tokens and Positions the
// number of InputRows counts.
//
// Errors: StatusArgument and StatusCapacity (Index: the item), StatusCancelled, StatusValue.
func (s *Session) Decode(items []DecodeItem, logits []float32, options *DecodeOptions) ([]float32, error) {
	run := begin()
	defer run.end()
	cSession := s.enter(run, alone)
	if run.err != nil {
		return nil, run.err
	}
	model, cItems := s.modelFacts(run), list[C.ggufx_decode_item](run, items)
	all := unsafe.Slice(cItems, len(items))
	for i := range all {
		if all[i].n_tokens == 0 { // InputRows alone
			all[i].n_tokens = all[i].n_input_rows / C.size_t(model.n_embedding)
		}
	}
	if logits == nil {
		logits = make([]float32, rows(all, DecodeLogits, DecodeAllLogits)*int(model.n_vocab))
	}
	var o DecodeOptions
	if options != nil {
		o = *options
	}
	to := alloc[C.ggufx_decode_options](run, 1)
	to.struct_size = C.sizeof_ggufx_decode_options
	to.progress = run.watch(&o.Watch)
	if o.MatmulFlags != nil {
		to.flags, to.matmul_flags = C.GGUFX_DECODE_HAS_MATMUL_FLAGS, C.uint32_t(*o.MatmulFlags)
	}
	if o.Attention != nil {
		hook := alloc[C.ggufx_attention_hook](run, 1)
		to.attention = hook
		hook.struct_size = C.sizeof_ggufx_attention_hook
		hook.layer, hook.user = run.callback(attention{s.model(), o.Attention}, C.ggufxGoLayer)
	}
	if run.err != nil {
		return nil, run.err
	}
	err := run.done(C.ggufx_go_decode(cSession, cItems, C.size_t(len(items)), (*C.float)(address(logits)),
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
	lists, rows := make([]TokenList, len(texts)), 0
	for i, text := range texts {
		lists[i].Tokens = text
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
	return out, e.Embed(out, lists, watch)
}
