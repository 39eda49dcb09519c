// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Imatrix is an importance matrix: the weight of each column of a tensor.
type Imatrix struct{ *handle }

// OpenImatrix reads a file of either format; watch may be nil.
func (rt *Runtime) OpenImatrix(path string, watch *Watch) (*Imatrix, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var m *C.ggufx_imatrix
	err = watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_imatrix_open(&m, rtp, text, user, e), e)
	})
	return opened(m, err)
}

// OpenImatrixMemory reads bytes, which are not needed afterwards.
func (rt *Runtime) OpenImatrixMemory(data []byte) (*Imatrix, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var m *C.ggufx_imatrix
	e := record()
	err = done(C.ggufx_imatrix_open_memory(&m, rtp, octets(data),
		C.size_t(len(data)), e), e)
	return opened(m, err)
}

func opened(m *C.ggufx_imatrix, err error) (*Imatrix, error) {
	if err != nil {
		return nil, err
	}
	return &Imatrix{hold(unsafe.Pointer(m), destroyImatrix)}, nil
}

// Close lets go of it.
func (m *Imatrix) Close() error {
	if m == nil {
		return nil
	}
	return m.close()
}

func (m *Imatrix) enter() (*C.ggufx_imatrix, error) {
	if m == nil {
		return nil, argument("no imatrix")
	}
	p, err := m.handle.enter("imatrix")
	return (*C.ggufx_imatrix)(p), err
}

func destroyImatrix(p unsafe.Pointer) { C.ggufx_imatrix_destroy((*C.ggufx_imatrix)(p)) }

// use runs a call that returns only a status.
func (m *Imatrix) use(call func(p *C.ggufx_imatrix, e *C.ggufx_error) C.ggufx_status) error {
	p, err := m.enter()
	if err != nil {
		return err
	}
	defer m.leave()
	e := record()
	return done(call(p, e), e)
}

// ImatrixInfo describes an Imatrix.
type ImatrixInfo struct {
	Entries, Datasets, Chunks uint64
	ChunkTokens               uint32
	Format                    ImatrixFormat
}

// Info describes it.
func (m *Imatrix) Info() (ImatrixInfo, error) {
	mp, err := m.enter()
	if err != nil {
		return ImatrixInfo{}, err
	}
	defer m.leave()
	out, e := C.ggufx_imatrix_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_imatrix_info(&out, mp, e), e)
	return ImatrixInfo{uint64(out.n_entries), uint64(out.n_datasets), uint64(out.n_chunks),
		uint32(out.chunk_tokens), ImatrixFormat(out.format)}, err
}

// ImatrixEntry is a copy of what one weight tensor's columns are worth, [Matrices][Columns].
type ImatrixEntry struct {
	Name              string
	Columns, Matrices int
	Sums              []float32 // squared activations
	Counts            []float32 // tokens, [Matrices]
	Values            []float32 // Sums / Counts, for QuantizeOptions
}

// At returns entry i. Errors: ARGUMENT.
func (m *Imatrix) At(i int) (*ImatrixEntry, error) {
	p, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer m.leave()
	var out C.ggufx_imatrix_entry
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	e := record()
	if err := done(C.ggufx_imatrix_at(&out, p, C.size_t(i), e), e); err != nil {
		return nil, err
	}
	all := int(out.n_columns) * int(out.n_matrices)
	copied := func(p *C.float, n int) []float32 {
		return append([]float32(nil), unsafe.Slice((*float32)(unsafe.Pointer(p)), n)...)
	}
	return &ImatrixEntry{string(view(out.name, out.name_length)), int(out.n_columns),
		int(out.n_matrices), copied(out.sums, all), copied(out.counts, int(out.n_matrices)),
		copied(out.values, all)}, nil
}

// Find returns the entry of a weight tensor. Errors: NOT_FOUND.
func (m *Imatrix) Find(name string) (*ImatrixEntry, error) {
	text, n := chars([]byte(name))
	var out C.size_t
	if err := m.use(func(p *C.ggufx_imatrix, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_imatrix_find(&out, p, text, n, e)
	}); err != nil {
		return nil, err
	}
	return m.At(int(out))
}

// Dataset returns the name of data set i it was computed from.
func (m *Imatrix) Dataset(i int) (string, error) {
	mp, err := m.enter()
	if err != nil {
		return "", err
	}
	defer m.leave()
	var out *C.char
	var n C.size_t
	e := record()
	err = done(C.ggufx_imatrix_dataset(&out, &n, mp, C.size_t(i), e), e)
	text := string(view(out, n))
	return text, err
}

// Select keeps the entries whose element of keep is not 0.
func (m *Imatrix) Select(keep []byte) error {
	return m.use(func(p *C.ggufx_imatrix, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_imatrix_select(p, (*C.uint8_t)(octets(keep)), C.size_t(len(keep)), e)
	})
}

// Merge adds another one. Errors: MISMATCH, VALUE, MEMORY.
func (m *Imatrix) Merge(other *Imatrix) error {
	from, err := other.enter()
	if err != nil {
		return err
	}
	defer other.leave()
	return m.use(func(p *C.ggufx_imatrix, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_imatrix_merge(p, from, e)
	})
}

// Write writes a file, whole or not at all; watch may be nil.
func (m *Imatrix) Write(path string, format ImatrixFormat, watch *Watch) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return watched(watch, func(user C.uintptr_t) error {
		return m.use(func(p *C.ggufx_imatrix, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_imatrix_write(p, text, C.int32_t(format), user, e)
		})
	})
}
