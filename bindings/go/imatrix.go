// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Imatrix tells what each column of a weight is worth.
type Imatrix struct{ p *C.ggufx_imatrix }

// OpenImatrix reads a file of either format; watch may be nil.
func (rt *Runtime) OpenImatrix(path string, watch *Watch) (*Imatrix, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	m := new(Imatrix)
	return m.opened(rt, watched(watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_imatrix_open(&m.p, rt.ptr(), text, user, e), e)
	}))
}

// OpenImatrixMemory reads bytes, which are not needed afterwards.
func (rt *Runtime) OpenImatrixMemory(data []byte) (*Imatrix, error) {
	m, e := new(Imatrix), record()
	return m.opened(rt, done(C.ggufx_imatrix_open_memory(&m.p, rt.ptr(), octets(data),
		C.size_t(len(data)), e), e))
}

func (m *Imatrix) opened(rt *Runtime, err error) (*Imatrix, error) {
	runtime.KeepAlive(rt)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(m, (*Imatrix).Close)
	return m, nil
}

// Close lets go of it.
func (m *Imatrix) Close() error {
	if m.p != nil {
		runtime.SetFinalizer(m, nil)
		C.ggufx_imatrix_destroy(m.p)
		m.p = nil
	}
	return nil
}

func (m *Imatrix) end(status C.ggufx_status, e *C.ggufx_error) error {
	err := done(status, e)
	runtime.KeepAlive(m)
	return err
}

// ImatrixInfo describes an Imatrix.
type ImatrixInfo struct {
	Entries, Datasets, Chunks uint64
	ChunkTokens               uint32
	Format                    ImatrixFormat
}

// Info describes it.
func (m *Imatrix) Info() (ImatrixInfo, error) {
	out, e := C.ggufx_imatrix_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err := m.end(C.ggufx_imatrix_info(&out, m.p, e), e)
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

// At gives entry i. Errors: ARGUMENT.
func (m *Imatrix) At(i int) (*ImatrixEntry, error) {
	var out C.ggufx_imatrix_entry
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	e := record()
	if err := m.end(C.ggufx_imatrix_at(&out, m.p, C.size_t(i), e), e); err != nil {
		return nil, err
	}
	all := int(out.n_columns) * int(out.n_matrices)
	copied := func(p *C.float, n int) []float32 {
		return append([]float32(nil), unsafe.Slice((*float32)(unsafe.Pointer(p)), n)...)
	}
	entry := &ImatrixEntry{string(view(out.name, out.name_length)), int(out.n_columns),
		int(out.n_matrices), copied(out.sums, all), copied(out.counts, int(out.n_matrices)),
		copied(out.values, all)}
	runtime.KeepAlive(m)
	return entry, nil
}

// Find gives the entry of a weight tensor. Errors: NOT_FOUND.
func (m *Imatrix) Find(name string) (*ImatrixEntry, error) {
	text, n := chars([]byte(name))
	var out C.size_t
	e := record()
	if err := m.end(C.ggufx_imatrix_find(&out, m.p, text, n, e), e); err != nil {
		return nil, err
	}
	return m.At(int(out))
}

// Dataset names text i it was made from.
func (m *Imatrix) Dataset(i int) (string, error) {
	var out *C.char
	var n C.size_t
	e := record()
	err := done(C.ggufx_imatrix_dataset(&out, &n, m.p, C.size_t(i), e), e)
	text := string(view(out, n))
	runtime.KeepAlive(m)
	return text, err
}

// Select keeps the entries whose place in keep is not 0.
func (m *Imatrix) Select(keep []byte) error {
	e := record()
	return m.end(C.ggufx_imatrix_select(m.p, (*C.uint8_t)(octets(keep)), C.size_t(len(keep)), e), e)
}

// Merge adds another one. Errors: MISMATCH, VALUE, MEMORY.
func (m *Imatrix) Merge(other *Imatrix) error {
	e := record()
	err := m.end(C.ggufx_imatrix_merge(m.p, other.p, e), e)
	runtime.KeepAlive(other)
	return err
}

// Write writes a file, whole or not at all; watch may be nil.
func (m *Imatrix) Write(path string, format ImatrixFormat, watch *Watch) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return watched(watch, func(user C.uintptr_t) error {
		e := record()
		return m.end(C.ggufx_go_imatrix_write(m.p, text, C.int32_t(format), user, e), e)
	})
}
