// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"errors"
	"sort"
	"strings"
	"unsafe"
)

// Model is a file bound to the graph of its architecture; immutable, keeps the file's data alive.
type Model struct{ *handle }

// ModelOptions of NewModelWith; nil is the default.
type ModelOptions struct {
	Overrides map[string]string // keys as if they had these values: "llama.rope.freq_base"
	Watch     Watch             // layers
}

// NewModel binds a file; no weight is copied. Errors: those of ggufx_model_create.
func (rt *Runtime) NewModel(f *File) (*Model, error) { return rt.NewModelWith(f, nil) }

// NewModelWith is NewModel with options.
func (rt *Runtime) NewModelWith(f *File, options *ModelOptions) (*Model, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	var o ModelOptions
	if options != nil {
		o = *options
	}
	list, free, err := overridesOf(o.Overrides)
	if err != nil {
		return nil, err
	}
	defer free()
	var m *C.ggufx_model
	err = watched(&o.Watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_model(&m, rtp, fp, list, C.size_t(len(o.Overrides)), user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return &Model{hold(unsafe.Pointer(m), destroyModel)}, nil
}

// overridesOf copies overrides into C memory, which free releases.
func overridesOf(from map[string]string) (list *C.ggufx_model_override, free func(), err error) {
	texts := []unsafe.Pointer{}
	free = func() {
		for _, text := range texts {
			C.free(text)
		}
	}
	if len(from) == 0 {
		return nil, free, nil
	}
	keep := func(text string) *C.char {
		out := C.CString(text)
		texts = append(texts, unsafe.Pointer(out))
		return out
	}
	keys := make([]string, 0, len(from))
	for key, value := range from {
		if strings.ContainsRune(key+value, 0) {
			return nil, free, argument("an override holds a NUL")
		}
		keys = append(keys, key)
	}
	sort.Strings(keys)
	memory := C.calloc(C.size_t(len(keys)), C.size_t(unsafe.Sizeof(C.ggufx_model_override{})))
	texts = append(texts, memory)
	all := unsafe.Slice((*C.ggufx_model_override)(memory), len(keys))
	for i, key := range keys {
		all[i].key, all[i].value = keep(key), keep(from[key])
	}
	return &all[0], free, nil
}

// Close drops the model; sessions keep theirs.
func (m *Model) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}

func (m *Model) enter() (*C.ggufx_model, error) {
	if m == nil {
		return nil, argument("no model")
	}
	p, err := m.handle.enter("model")
	return (*C.ggufx_model)(p), err
}

func destroyModel(p unsafe.Pointer) { C.ggufx_model_destroy((*C.ggufx_model)(p)) }

// ModelInfo describes a model.
type ModelInfo struct {
	Architecture                      string
	Parameters, WeightBytes           uint64
	Vocab, Context, Embedding, Layers int
	Heads, KVHeads, HeadDim           int
	Flags                             ModelFlags
}

// Info describes the model.
func (m *Model) Info() (ModelInfo, error) {
	mp, err := m.enter()
	if err != nil {
		return ModelInfo{}, err
	}
	defer m.leave()
	out, e := C.ggufx_model_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_model_info(&out, mp, e), e)
	if err != nil {
		return ModelInfo{}, err
	}
	return ModelInfo{C.GoString(out.architecture), uint64(out.n_parameters),
		uint64(out.weight_bytes), int(out.n_vocab), int(out.n_context), int(out.n_embedding),
		int(out.n_layers), int(out.n_heads), int(out.n_kv_heads), int(out.head_dim),
		ModelFlags(out.flags)}, nil
}

// LayerInfo describes a layer of a model.
type LayerInfo struct {
	Kind           LayerKind
	Flags          LayerFlags
	Heads, KVHeads int // for attention; else 0
	HeadDimK       int // values of a query and a key
	HeadDimV       int // values of a value and a result
	Window         int // tokens it sees; 0: all
	ReadsLayer     int // layer whose keys and values it reads, usually its own
	Scale, Softcap float32
	StateBytes     uint64    // state of a recurrent layer, per sequence
	Sinks          []float32 // a logit per head, or nil
}

// layerWidths returns the values per token of the inputs and outputs of a layer's attention.
type layerWidths struct{ q, k, v, out int }

func (l *LayerInfo) widths() layerWidths {
	w := layerWidths{l.Heads * l.HeadDimK, l.KVHeads * l.HeadDimK, l.KVHeads * l.HeadDimV,
		l.Heads * l.HeadDimV}
	if l.Flags&LayerVInK != 0 {
		w.v = 0
	}
	return w
}

// Layer describes a layer. Errors: ARGUMENT.
func (m *Model) Layer(layer int) (LayerInfo, error) {
	mp, err := m.enter()
	if err != nil {
		return LayerInfo{}, err
	}
	defer m.leave()
	if layer < 0 || layer > 1<<31-1 {
		return LayerInfo{}, argument("no such layer")
	}
	out, e := C.ggufx_layer_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_model_layer(&out, mp, C.uint32_t(layer), e), e)
	if err != nil {
		return LayerInfo{}, err
	}
	info := LayerInfo{LayerKind(out.kind), LayerFlags(out.flags), int(out.n_heads),
		int(out.n_kv_heads), int(out.head_dim_k), int(out.head_dim_v), int(out.window),
		int(out.reads_layer), float32(out.scale), float32(out.softcap), uint64(out.state_bytes), nil}
	if out.sinks != nil {
		sinks := unsafe.Slice((*float32)(unsafe.Pointer(out.sinks)), info.Heads)
		info.Sinks = append(info.Sinks, sinks...)
	}
	return info, nil
}

// Graph returns a readable description of the model's graph: one line per operation. Errors: those
// of ggufx_model_create.
func (f *File) Graph() (string, error) {
	fp, err := f.enter()
	if err != nil {
		return "", err
	}
	defer f.leave()
	out := make([]byte, 4096)
	for {
		var needed C.size_t
		e := record()
		err := done(C.ggufx_file_graph((*C.char)(octets(out)), C.size_t(len(out)), &needed, fp, e), e)
		if err == nil {
			return string(out[:needed]), nil
		}
		if !errors.Is(err, StatusCapacity) || int(needed) <= len(out) {
			return "", err
		}
		out = make([]byte, needed)
	}
}
