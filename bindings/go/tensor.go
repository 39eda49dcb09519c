// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Tensor is a typed, shaped, strided view of weights; immutable. One of a file is usable until the
// File is closed; wrapped memory and slices keep what they need, and are closed.
type Tensor struct {
	*handle // its own, or that of its file
	p       *C.ggufx_tensor
	owned   bool
}

func (t *Tensor) enter() (*C.ggufx_tensor, error) {
	if t == nil {
		return nil, argument("no tensor")
	}
	what := "tensor"
	if !t.owned {
		what = "tensor's file"
	}
	_, err := t.handle.enter(what)
	return t.p, err
}

func owned(p *C.ggufx_tensor) *Tensor {
	return &Tensor{hold(unsafe.Pointer(p), destroyTensor), p, true}
}

func destroyTensor(p unsafe.Pointer) { C.ggufx_tensor_destroy((*C.ggufx_tensor)(p)) }

// Close drops wrapped memory or a slice; it has no effect on a tensor of a file.
func (t *Tensor) Close() error {
	if t == nil || !t.owned {
		return nil
	}
	return t.close()
}

// TensorCount returns the number of tensors over all parts.
func (f *File) TensorCount() int {
	p, err := f.enter()
	if err != nil {
		return 0
	}
	defer f.leave()
	return int(C.ggufx_file_tensor_count(p))
}

// TensorAt returns tensor i in file order; nil out of range, or when the file is closed.
func (f *File) TensorAt(i int) *Tensor {
	p, err := f.enter()
	if err != nil {
		return nil
	}
	defer f.leave()
	return f.tensor(p, C.size_t(i))
}

func (f *File) tensor(file *C.ggufx_file, i C.size_t) *Tensor {
	p := C.ggufx_file_tensor(file, i)
	if p == nil {
		return nil
	}
	return &Tensor{f.handle, (*C.ggufx_tensor)(unsafe.Pointer(p)), false}
}

// Tensor finds a tensor by its name. Errors: NOT_FOUND.
func (f *File) Tensor(name string) (*Tensor, error) {
	p, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	text, n := chars([]byte(name))
	var out C.size_t
	e := record()
	if err := done(C.ggufx_file_tensor_find(&out, p, text, n, e), e); err != nil {
		return nil, err
	}
	return f.tensor(p, out), nil
}

// Wrap wraps a copy of blocks in file format; rowStride 0: dense. Errors: ARGUMENT, TYPE, SHAPE,
// OVERFLOW, BOUNDS, MEMORY.
func (rt *Runtime) Wrap(t TensorType, ne []uint64, rowStride uint64, data []byte, name string) (*Tensor, error) {
	p, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	memory := C.malloc(C.size_t(len(data)) + 1)
	copy(unsafe.Slice((*byte)(memory), len(data)), data)
	return wrap(p, t, ne, rowStride, memory, uint64(len(data)), name, 0)
}

// WrapMemory is Wrap without a copy, for memory that is not Go's (mapped files, C's); release is
// called when its last user is gone, which may be at once when the call fails.
func (rt *Runtime) WrapMemory(t TensorType, ne []uint64, rowStride uint64, data unsafe.Pointer,
	n uint64, name string, release func()) (*Tensor, error) {
	p, err := rt.enter()
	if err != nil {
		release()
		return nil, err
	}
	defer rt.leave()
	keep := cgo.NewHandle(&callbacks{release: release})
	return wrap(p, t, ne, rowStride, data, n, name, C.uintptr_t(keep))
}

func wrap(rt *C.ggufx_runtime, t TensorType, ne []uint64, stride uint64, data unsafe.Pointer,
	n uint64, name string, keep C.uintptr_t) (*Tensor, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var out *C.ggufx_tensor
	e := record()
	err := done(C.ggufx_go_wrap(&out, rt, C.uint32_t(t), C.uint32_t(len(ne)), quads(ne),
		C.uint64_t(stride), data, C.uint64_t(n), text, keep, e), e)
	if err != nil {
		return nil, err
	}
	return owned(out), nil
}

// Slice returns indices first..first+n-1 of a dimension, sharing the data and keeping them alive.
// Errors: ARGUMENT, SHAPE (off a block border), UNSUPPORTED, MEMORY.
func (t *Tensor) Slice(dim int, first, n uint64) (*Tensor, error) {
	p, err := t.enter()
	if err != nil {
		return nil, err
	}
	defer t.leave()
	var out *C.ggufx_tensor
	e := record()
	err = done(C.ggufx_tensor_slice(&out, p, C.uint32_t(dim), C.uint64_t(first), C.uint64_t(n), e), e)
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

func factsOf(t *C.ggufx_tensor, out *C.ggufx_tensor_facts) error {
	out.struct_size = C.uint32_t(unsafe.Sizeof(*out))
	e := record()
	return done(C.ggufx_tensor_info(out, t, e), e)
}

// Info describes the tensor.
func (t *Tensor) Info() (TensorInfo, error) {
	p, err := t.enter()
	if err != nil {
		return TensorInfo{}, err
	}
	defer t.leave()
	var out C.ggufx_tensor_facts
	if err := factsOf(p, &out); err != nil {
		return TensorInfo{}, err
	}
	info := TensorInfo{Name: string(view(out.name, out.name_length)), Type: TensorType(out._type),
		Dims: int(out.n_dims), RowBytes: uint64(out.row_bytes), RowStride: uint64(out.row_stride),
		Rows: uint64(out.n_rows), Bytes: uint64(out.n_bytes), Offset: uint64(out.offset),
		FileOffset: uint64(out.file_offset), Part: int(out.part)}
	for i := range info.Ne {
		info.Ne[i] = uint64(out.ne[i])
	}
	return info, nil
}

// Data shows the bytes from the first row to the end of the last one, RowStride apart; nil when
// they are not in memory. They may be read as long as the tensor, and its file, are open and
// reachable (runtime.KeepAlive).
func (t *Tensor) Data() []byte {
	p, err := t.enter()
	if err != nil {
		return nil
	}
	defer t.leave()
	var out C.ggufx_tensor_facts
	if factsOf(p, &out) != nil || out.n_rows == 0 {
		return nil
	}
	data := C.ggufx_tensor_data(p)
	if data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(data), uint64((out.n_rows-1)*out.row_stride+out.row_bytes))
}
