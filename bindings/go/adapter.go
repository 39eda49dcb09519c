// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Adapter is a LoRA adapter or control vector bound to a model. It is immutable and keeps its file
// and the model alive.
type Adapter struct{ *handle }

// AdapterOptions of NewAdapter; nil is all layers of a control vector.
type AdapterOptions struct {
	FirstLayer, LastLayer uint32 // counted from 0; LastLayer 0: the last
}

// NewAdapter binds an adapter's file to a model. Errors: MISMATCH (the message names the tensor
// that does not fit), those of ggufx_adapter_create.
func (m *Model) NewAdapter(f *File, options *AdapterOptions) (*Adapter, error) {
	mp, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer m.leave()
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	var o C.ggufx_adapter_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.first_layer, o.last_layer = C.uint32_t(options.FirstLayer), C.uint32_t(options.LastLayer)
	}
	var a *C.ggufx_adapter
	e := record()
	err = done(C.ggufx_adapter_create(&a, mp, fp, &o, e), e)
	if err != nil {
		return nil, err
	}
	return &Adapter{hold(unsafe.Pointer(a), destroyAdapter)}, nil
}

// Close frees the adapter; sequences that have it keep its data.
func (a *Adapter) Close() error {
	if a == nil {
		return nil
	}
	return a.close()
}

func (a *Adapter) enter() (*C.ggufx_adapter, error) {
	if a == nil {
		return nil, argument("no adapter")
	}
	p, err := a.handle.enter("adapter")
	return (*C.ggufx_adapter)(p), err
}

func destroyAdapter(p unsafe.Pointer) { C.ggufx_adapter_destroy((*C.ggufx_adapter)(p)) }

// AdapterInfo describes an adapter.
type AdapterInfo struct {
	Kind        AdapterKind
	Targets     int     // tensors of the model, or layers, that something is added to
	Rank        int     // largest rank; 0 for a control vector
	Alpha       float64 // 0: none
	Fingerprint uint64  // equal for adapters with equal content and options
	MemoryBytes uint64  // bytes from the allocator
}

// Info describes the adapter.
func (a *Adapter) Info() (AdapterInfo, error) {
	p, err := a.enter()
	if err != nil {
		return AdapterInfo{}, err
	}
	defer a.leave()
	var out C.ggufx_adapter_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	e := record()
	err = done(C.ggufx_adapter_info(&out, p, e), e)
	return AdapterInfo{AdapterKind(out.kind), int(out.n_targets), int(out.rank), float64(out.alpha),
		uint64(out.fingerprint), uint64(out.memory_bytes)}, err
}

// HasTensor reports whether the adapter changes a tensor of the model's file, by its number.
func (a *Adapter) HasTensor(tensor int) bool {
	p, err := a.enter()
	if err != nil {
		return false
	}
	defer a.leave()
	return C.ggufx_adapter_has_tensor(p, C.size_t(tensor)) == 1
}

// AddRows adds the adapter's delta to nRows rows of a tensor of the model's file, as when the
// adapter is merged into the model. Errors: ARGUMENT, MEMORY.
func (a *Adapter) AddRows(rows []float32, tensor int, firstRow, nRows uint64, scale float32) error {
	p, err := a.enter()
	if err != nil {
		return err
	}
	defer a.leave()
	e := record()
	return done(C.ggufx_adapter_add_rows(floats(rows), C.size_t(len(rows)), p, C.size_t(tensor),
		C.uint64_t(firstRow), C.uint64_t(nRows), C.float(scale), e), e)
}

// AdapterUse is an adapter among those that are used together.
type AdapterUse struct {
	Adapter *Adapter
	Scale   float32
}

// nativeUses enters the adapters; leave ends that.
func nativeUses(uses []AdapterUse) (list *C.ggufx_adapter_use, leave func(), err error) {
	raw := make([]C.ggufx_adapter_use, len(uses))
	n := 0
	leave = func() {
		for _, use := range uses[:n] {
			use.Adapter.leave()
		}
	}
	for ; n < len(uses); n++ {
		p, err := uses[n].Adapter.enter()
		if err != nil {
			leave()
			return nil, nil, err
		}
		raw[n] = C.ggufx_adapter_use{adapter: p, scale: C.float(uses[n].Scale)}
	}
	if n > 0 {
		list = &raw[0]
	}
	return list, leave, nil
}

// SetAdapters lets an empty sequence, or AdapterAllSequences, use these adapters, in this order,
// instead of its previous ones. Errors: ARGUMENT, MISMATCH (another model's), STATE (Index: the
// sequence).
func (s *Session) SetAdapters(sequence uint32, uses []AdapterUse) error {
	list, leave, err := nativeUses(uses)
	if err != nil {
		return err
	}
	defer leave()
	return s.use(func(p *C.ggufx_session, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_session_set_adapters(p, C.uint32_t(sequence), list, C.size_t(len(uses)), e)
	})
}

// SetAdapters sets the adapters for all inputs from now on, in this order.
func (em *Embedder) SetAdapters(uses []AdapterUse) error {
	list, leave, err := nativeUses(uses)
	if err != nil {
		return err
	}
	defer leave()
	p, err := em.enter()
	if err != nil {
		return err
	}
	defer em.leave()
	e := record()
	return done(C.ggufx_embedder_set_adapters(p, list, C.size_t(len(uses)), e), e)
}
