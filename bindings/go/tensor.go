// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import "unsafe"

// Tensor finds a tensor by its name. It is usable until the file is closed.
//
// Errors: StatusArgument, StatusNotFound.
func (f *File) Tensor(name string) (*Tensor, error) {
	i, err := f.TensorFind(name)
	if err != nil {
		return nil, err
	}
	tensor := f.TensorAt(i)
	if tensor == nil { // the file was closed meanwhile, which this tells
		_, err = f.TensorFind(name)
	}
	return tensor, err
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
	made, options := slot[*C.ggufx_tensor](run), alloc[C.ggufx_tensor_options](run, 1)
	if len(ne) > len(options.ne) {
		release()
		return nil, argument("%d dimensions, at most %d", len(ne), len(options.ne))
	}
	options.struct_size = C.sizeof_ggufx_tensor_options
	options._type, options.n_dims = C.uint32_t(typ), C.uint32_t(len(ne))
	for i, n := range ne {
		options.ne[i] = C.uint64_t(n)
	}
	options.row_stride, options.data, options.n_bytes = C.uint64_t(rowStride), data, C.uint64_t(n)
	options.name, options.destroy = cName, (*[0]byte)(C.ggufxGoDestroy)
	options.user, _ = hook(release)
	err := run.done(C.ggufx_tensor_create(made, cRt, options, run.e))
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

// Matmul computes the products of a matrix and n columns, ldx apart; results are ldy apart. 0: dense.
//
// Errors: StatusArgument, StatusType, StatusUnsupported, StatusLimit, StatusCancelled.
func (r *Runtime) Matmul(y []float32, ldy int, w *Tensor, x []float32, ldx, n int, options *MatmulOptions) error {
	return r.multiply(y, ldy, w, nil, 0, x, ldx, n, options)
}

// MatmulID multiplies n columns by the matrices of experts, nUsed experts per column.
//
// Errors: those of Matmul.
func (r *Runtime) MatmulID(y []float32, ldy int, w *Tensor, ids []uint32, nUsed int, x []float32, ldx, n int,
	options *MatmulOptions) error {
	if len(ids) == 0 && product(n, nUsed) == 0 {
		return nil
	}
	return r.multiply(y, ldy, w, ids, nUsed, x, ldx, n, options)
}

func (r *Runtime) multiply(y []float32, ldy int, w *Tensor, ids []uint32, nUsed int, x []float32, ldx, n int,
	options *MatmulOptions) error {
	run := begin()
	defer run.end()
	cRt, cW := r.enter(run, shared), w.enter(run, shared)
	cLdy, cLdx, cN, cNUsed := run.size("ldy", ldy), run.size("ldx", ldx), run.size("n", n), run.size("nUsed", nUsed)
	run.equal("ids", len(ids), ids == nil, product(n, nUsed))
	cOptions := one[C.ggufx_matmul_options](run, options)
	if run.err != nil {
		return run.err
	}
	return run.done(C.ggufx_go_matmul((*C.float)(address(y)), cLdy, C.size_t(len(y)), cRt, cW,
		(*C.uint32_t)(address(ids)), cNUsed, (*C.float)(address(x)), cLdx, C.size_t(len(x)), cN, cOptions, run.e))
}

// MatvecMany computes the products of several matrices and one vector; concatenated in y, rows[i]
// values each. At most MatmulMaxProducts.
//
// Errors: those of Matmul.
func (r *Runtime) MatvecMany(y []float32, rows []int, w []*Tensor, x []float32, options *MatmulOptions) error {
	run := begin()
	defer run.end()
	cRt := r.enter(run, shared)
	run.equal("rows", len(rows), false, len(w))
	cOptions := one[C.ggufx_matmul_options](run, options)
	if run.err != nil {
		return run.err
	}
	products, left := alloc[C.ggufx_product](run, len(rows)), len(y)
	for i, n := range rows {
		if n < 0 || n > left {
			return argument("%d rows after %d of %d values", n, len(y)-left, len(y))
		}
		of := &unsafe.Slice(products, len(rows))[i]
		of.w, of.n_y = w[i].enter(run, shared), C.size_t(n)
		left -= n
	}
	if run.err != nil {
		return run.err
	}
	return run.done(C.ggufx_go_matvec_many((*C.float)(address(y)), cRt, products, C.size_t(len(rows)),
		(*C.float)(address(x)), C.size_t(len(x)), cOptions, run.e))
}
