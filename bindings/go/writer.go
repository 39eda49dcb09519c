// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import "io"

// Number is what arrays of metadata hold.
type Number interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64 | bool
}

func metaTypeOf(value any) ValueType {
	switch value.(type) {
	case uint8:
		return ValueU8
	case int8:
		return ValueI8
	case uint16:
		return ValueU16
	case int16:
		return ValueI16
	case uint32:
		return ValueU32
	case int32:
		return ValueI32
	case uint64:
		return ValueU64
	case int64:
		return ValueI64
	case float32:
		return ValueF32
	case float64:
		return ValueF64
	}
	return ValueBool
}

// SetArray sets a key to an array of numbers of the slice's type.
func SetArray[T Number](w *Writer, key string, elements []T) error {
	var zero T
	run := begin()
	defer run.end()
	cWriter := w.enter(run, alone)
	if run.err != nil {
		return run.err
	}
	return run.done(C.ggufx_writer_set_array(cWriter, chars(key), C.size_t(len(key)), C.int32_t(metaTypeOf(zero)),
		address(elements), C.size_t(len(elements)), run.e))
}

// AddStream adds a tensor whose data are read while the file is written: the bytes of the dense
// tensor.
//
// Errors: as AddTensor.
func (w *Writer) AddStream(name string, typ TensorType, ne []uint64, from io.ReaderAt) error {
	run := begin()
	defer run.end()
	cWriter := w.enter(run, alone)
	if from == nil {
		run.fail(argument("from is nil"))
	}
	if run.err != nil {
		return run.err
	}
	to := alloc[C.ggufx_tensor_stream](run, 1)
	to.struct_size = C.sizeof_ggufx_tensor_stream
	to.read, to.destroy = (*[0]byte)(C.ggufxGoReadAt), (*[0]byte)(C.ggufxGoDestroy)
	var set *functions
	to.user, set = hook(from)
	err := run.done(C.ggufx_writer_add_stream(cWriter, chars(name), C.size_t(len(name)), C.uint32_t(typ),
		C.uint32_t(len(ne)), (*C.uint64_t)(address(ne)), to, run.e))
	if err == nil { // its panics and errors are those of the calls that read
		w.kept = append(w.kept, set)
		set.users.Add(1)
	}
	return err
}
