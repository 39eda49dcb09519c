// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Tensor is a typed, shaped, strided view of weights; immutable. One of a file is usable until the
// File is closed; wrapped memory and slices keep what they need, and are closed.
type Tensor struct {
	p     *C.ggufx_tensor
	file  *File // of a borrowed one
	owned bool
}

func (t *Tensor) ptr() *C.ggufx_tensor {
	if t == nil || t.file != nil && t.file.p == nil {
		return nil // its file was closed: the library refuses it
	}
	return t.p
}

func (t *Tensor) keep() {
	runtime.KeepAlive(t)
	runtime.KeepAlive(t.file)
}

func owned(p *C.ggufx_tensor) *Tensor {
	t := &Tensor{p: p, owned: true}
	runtime.SetFinalizer(t, (*Tensor).Close)
	return t
}

// Close drops wrapped memory or a slice; a tensor of a file is left alone.
func (t *Tensor) Close() error {
	if t.owned && t.p != nil {
		runtime.SetFinalizer(t, nil)
		C.ggufx_tensor_destroy(t.p)
		t.p = nil
	}
	return nil
}

// TensorCount gives the number of tensors over all parts.
func (f *File) TensorCount() int {
	n := 0
	if f.ptr() != nil {
		n = int(C.ggufx_file_tensor_count(f.p))
	}
	runtime.KeepAlive(f)
	return n
}

// TensorAt gives tensor i in file order; nil out of range.
func (f *File) TensorAt(i int) *Tensor {
	if f.ptr() == nil {
		return nil
	}
	p := C.ggufx_file_tensor(f.p, C.size_t(i))
	runtime.KeepAlive(f)
	if p == nil {
		return nil
	}
	return &Tensor{p: (*C.ggufx_tensor)(unsafe.Pointer(p)), file: f}
}

// Tensor finds a tensor by its name. Errors: NOT_FOUND.
func (f *File) Tensor(name string) (*Tensor, error) {
	text, n := chars([]byte(name))
	var out C.size_t
	e := record()
	err := done(C.ggufx_file_tensor_find(&out, f.ptr(), text, n, e), e)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, err
	}
	return f.TensorAt(int(out)), nil
}

// Wrap wraps a copy of blocks as they stand in files; rowStride 0: dense. Errors: ARGUMENT, TYPE,
// SHAPE, OVERFLOW, BOUNDS, MEMORY.
func (rt *Runtime) Wrap(t TensorType, ne []uint64, rowStride uint64, data []byte, name string) (*Tensor, error) {
	memory := C.malloc(C.size_t(len(data)) + 1)
	copy(unsafe.Slice((*byte)(memory), len(data)), data)
	return rt.wrap(t, ne, rowStride, memory, uint64(len(data)), name, 0)
}

// WrapMemory is Wrap without a copy, for memory that is not Go's (mapped files, C's); release is
// called when its last user is gone.
func (rt *Runtime) WrapMemory(t TensorType, ne []uint64, rowStride uint64, data unsafe.Pointer,
	n uint64, name string, release func()) (*Tensor, error) {
	keep := cgo.NewHandle(&callbacks{release: release})
	return rt.wrap(t, ne, rowStride, data, n, name, C.uintptr_t(keep))
}

func (rt *Runtime) wrap(t TensorType, ne []uint64, stride uint64, data unsafe.Pointer, n uint64,
	name string, keep C.uintptr_t) (*Tensor, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var out *C.ggufx_tensor
	e := record()
	err := done(C.ggufx_go_wrap(&out, rt.ptr(), C.uint32_t(t), C.uint32_t(len(ne)), quads(ne),
		C.uint64_t(stride), data, C.uint64_t(n), text, keep, e), e)
	runtime.KeepAlive(rt)
	if err != nil {
		return nil, err
	}
	return owned(out), nil
}

// Slice gives indices first..first+n-1 of a dimension, sharing the data and keeping them alive.
// Errors: ARGUMENT, SHAPE (off a block border), UNSUPPORTED, MEMORY.
func (t *Tensor) Slice(dim int, first, n uint64) (*Tensor, error) {
	var out *C.ggufx_tensor
	e := record()
	err := done(C.ggufx_tensor_slice(&out, t.ptr(), C.uint32_t(dim), C.uint64_t(first),
		C.uint64_t(n), e), e)
	t.keep()
	if err != nil {
		return nil, err
	}
	return owned(out), nil
}

// TensorInfo describes a tensor.
type TensorInfo struct {
	Name                             string
	Type                             TensorType
	Dims                             int
	Ne                               [4]uint64 // values per dimension, Ne[0] along a row
	RowBytes, RowStride, Rows, Bytes uint64
	Offset, FileOffset               uint64 // None when wrapped
	Part                             int
}

func (t *Tensor) facts(out *C.ggufx_tensor_facts) error {
	out.struct_size = C.uint32_t(unsafe.Sizeof(*out))
	e := record()
	return done(C.ggufx_tensor_info(out, t.ptr(), e), e)
}

// Info describes the tensor.
func (t *Tensor) Info() (TensorInfo, error) {
	var out C.ggufx_tensor_facts
	if err := t.facts(&out); err != nil {
		return TensorInfo{}, err
	}
	info := TensorInfo{Name: string(view(out.name, out.name_length)), Type: TensorType(out._type),
		Dims: int(out.n_dims), RowBytes: uint64(out.row_bytes), RowStride: uint64(out.row_stride),
		Rows: uint64(out.n_rows), Bytes: uint64(out.n_bytes), Offset: uint64(out.offset),
		FileOffset: uint64(out.file_offset), Part: int(out.part)}
	for i := range info.Ne {
		info.Ne[i] = uint64(out.ne[i])
	}
	t.keep()
	return info, nil
}

// Data shows the bytes from the first row to the end of the last one, RowStride apart; nil when
// they are not in memory. They may be read as long as the tensor, and its file, are open and
// reachable (runtime.KeepAlive).
func (t *Tensor) Data() []byte {
	var out C.ggufx_tensor_facts
	if t.facts(&out) != nil || out.n_rows == 0 {
		return nil
	}
	data := C.ggufx_tensor_data(t.ptr())
	t.keep()
	if data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(data), uint64((out.n_rows-1)*out.row_stride+out.row_bytes))
}
