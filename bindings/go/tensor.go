// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import "unsafe"

// TensorAt returns tensor i in file order; nil out of range, or when the file is closed. It is usable
// until the file is closed.
func (f *File) TensorAt(i int) *Tensor {
	run := begin()
	defer run.end()
	cFile := f.enter(run, shared)
	n := run.size("i", i)
	if run.err != nil {
		return nil
	}
	return f.tensor(cFile, n)
}

func (f *File) tensor(file *C.ggufx_file, i C.size_t) *Tensor {
	p := C.ggufx_file_tensor(file, i)
	if p == nil {
		return nil
	}
	return &Tensor{&handle{p: unsafe.Pointer(p), owner: f.handle, owned: "tensor's file"}}
}

// Tensor finds a tensor by its name. It is usable until the file is closed.
//
// Errors: StatusArgument, StatusNotFound.
func (f *File) Tensor(name string) (*Tensor, error) {
	run := begin()
	defer run.end()
	cFile := f.enter(run, shared)
	if run.err != nil {
		return nil, run.err
	}
	i := slot[C.size_t](run)
	if err := run.done(C.ggufx_file_tensor_find(i, cFile, chars(name), C.size_t(len(name)), run.e)); err != nil {
		return nil, err
	}
	return f.tensor(cFile, *i), nil
}

// WrapTensor wraps a copy of blocks in file format; rowStride 0: dense.
//
// Errors: StatusArgument, StatusMemory, StatusType, StatusShape, StatusOverflow, StatusBounds.
func (r *Runtime) WrapTensor(typ TensorType, ne []uint64, rowStride uint64, data []byte, name string) (*Tensor, error) {
	memory := C.malloc(C.size_t(len(data)) + 1) // never nil
	copy(unsafe.Slice((*byte)(memory), len(data)), data)
	return r.WrapMemory(typ, ne, rowStride, memory, uint64(len(data)), name, func() { C.free(memory) })
}

// WrapMemory is WrapTensor without a copy, for memory that is not Go's (mapped files, C's); release is
// called when its last user is gone, which may be at once when the call fails.
func (r *Runtime) WrapMemory(typ TensorType, ne []uint64, rowStride uint64, data unsafe.Pointer, n uint64,
	name string, release func()) (*Tensor, error) {
	run := begin()
	defer run.end()
	cRt, cName := r.enter(run, shared), run.text(name)
	if run.err != nil {
		release()
		return nil, run.err
	}
	made := slot[*C.ggufx_tensor](run)
	user, _ := hook(release)
	err := run.done(C.ggufx_tensor_wrap(made, cRt, C.uint32_t(typ), C.uint32_t(len(ne)), (*C.uint64_t)(address(ne)),
		C.uint64_t(rowStride), data, C.uint64_t(n), cName, (*[0]byte)(C.ggufxGoDestroy), user, run.e))
	if err != nil {
		return nil, err
	}
	return &Tensor{run.hold(unsafe.Pointer(*made), destroyTensor, nil)}, nil
}

// Data shows the bytes from the first row to the end of the last one, RowStride apart; nil when
// they are not in memory. They may be read as long as the tensor, and its file, are open and
// reachable (runtime.KeepAlive).
func (t *Tensor) Data() []byte {
	info, err := t.Info()
	if err != nil || info.Rows == 0 {
		return nil
	}
	run := begin()
	defer run.end()
	cTensor := t.enter(run, shared)
	if run.err != nil {
		return nil
	}
	data := C.ggufx_tensor_data(cTensor)
	if data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(data), (info.Rows-1)*info.RowStride+info.RowBytes)
}

// MatvecMany computes the products of several matrices and one vector; concatenated in y, rows[i]
// values each. At most MatvecMaxMatrices.
//
// Errors: StatusArgument, StatusType, StatusUnsupported, StatusLimit, StatusCancelled.
func (r *Runtime) MatvecMany(y []float32, rows []int, w []*Tensor, x []float32, options *MatmulOptions) error {
	run := begin()
	defer run.end()
	cRt := r.enter(run, shared)
	run.equal("rows", len(rows), false, len(w))
	cW, cOptions := objects[C.ggufx_tensor](run, w), one[C.ggufx_matmul_options](run, options)
	lengths, left := alloc[C.size_t](run, len(rows)), len(y)
	for i, n := range rows {
		if n < 0 || n > left {
			return argument("%d rows after %d of %d values", n, len(y)-left, len(y))
		}
		unsafe.Slice(lengths, len(rows))[i] = C.size_t(n)
		left -= n
	}
	if run.err != nil {
		return run.err
	}
	return run.done(C.ggufx_go_matvec_many((*C.float)(address(y)), alloc[*C.float](run, len(w)), lengths, cRt, cW,
		C.size_t(len(w)), (*C.float)(address(x)), C.size_t(len(x)), cOptions, run.e))
}
