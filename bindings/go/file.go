// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import (
	"io"
	"os"
	"runtime"
	"unsafe"
)

// OpenFile opens length bytes at offset of an open file, which stays the caller's; 0: to the end.
func (r *Runtime) OpenFile(file *os.File, offset, length uint64, options *OpenOptions) (*File, error) {
	defer runtime.KeepAlive(file)
	return r.OpenFD(int32(file.Fd()), offset, length, options)
}

// OpenMemory opens a copy of bytes: C may not keep Go's memory.
func (r *Runtime) OpenMemory(data []byte, options *OpenOptions) (*File, error) {
	run := begin()
	defer run.end()
	cRt := r.enter(run, shared)
	var o OpenOptions
	if options != nil {
		o = *options
	}
	o.Flags |= OpenCopy
	cOptions := one[C.ggufx_open_options](run, &o)
	if run.err != nil {
		return nil, run.err
	}
	made := slot[*C.ggufx_file](run)
	err := run.done(C.ggufx_open_memory(made, cRt, address(data), C.size_t(len(data)), nil, nil, cOptions, run.e))
	if err != nil {
		return nil, err
	}
	return &File{run.hold(unsafe.Pointer(*made), destroyFile, nil)}, nil
}

type reader struct {
	io.ReaderAt
	size int64
}

// OpenReader opens size bytes of a reader, which is used during this call only. errors.Is and
// errors.As match the errors that it returns.
func (r *Runtime) OpenReader(from io.ReaderAt, size int64, options *OpenOptions) (*File, error) {
	run := begin()
	defer run.end()
	cRt := r.enter(run, shared)
	cOptions := one[C.ggufx_open_options](run, options)
	if from == nil {
		run.fail(argument("from is nil"))
	}
	if run.err != nil {
		return nil, run.err
	}
	to := alloc[C.ggufx_io](run, 1)
	to.struct_size = C.sizeof_ggufx_io
	to.size, to.read_at = (*[0]byte)(C.ggufxGoSize), (*[0]byte)(C.ggufxGoReadAt)
	to.close = (*[0]byte)(C.ggufxGoDestroy)
	var set *functions
	to.user, set = hook(reader{from, size})
	made := slot[*C.ggufx_file](run)
	status := C.ggufx_open_io(made, cRt, to, cOptions, run.e)
	err := run.done(status)
	set.settle(err)
	if err != nil {
		return nil, err
	}
	return &File{run.hold(unsafe.Pointer(*made), destroyFile, nil)}, nil
}

//export ggufxGoSize
func ggufxGoSize(user unsafe.Pointer, out *C.uint64_t) C.int32_t {
	from, _ := functionOf[reader](user)
	*out = C.uint64_t(from.size)
	return C.GGUFX_OK
}

//export ggufxGoReadAt
func ggufxGoReadAt(user unsafe.Pointer, offset C.uint64_t, data unsafe.Pointer, n C.size_t) C.int32_t {
	from, set := functionOf[io.ReaderAt](user)
	return C.int32_t(set.guard(true, func() error {
		read, err := from.ReadAt(unsafe.Slice((*byte)(data), int(n)), int64(offset))
		if read == int(n) {
			return nil
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return err
	}))
}
