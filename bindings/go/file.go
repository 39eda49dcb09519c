// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"io"
	"os"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// File is an opened GGUF, one file or a split set; immutable.
type File struct{ *handle }

// OpenOptions of a file; nil is the default.
type OpenOptions struct {
	Flags            OpenFlags
	IO               IOMode
	MaxMetadataBytes uint64 // refuse larger metadata; 0: 1 GiB
	MaxKeys          uint64 // refuse more keys; 0: 1,048,576
	MaxTensors       uint64 // refuse more tensors of one file; 0: 1,048,576
	MaxStringBytes   uint64 // refuse longer keys and strings; 0: 1 GiB
	Watch            Watch
}

func (rt *Runtime) open(options *OpenOptions, how C.int, source unsafe.Pointer, n, offset uint64,
	fd uintptr, reader *callbacks, extra OpenFlags) (*File, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var o OpenOptions
	if options != nil {
		o = *options
	}
	native := C.ggufx_open_options{struct_size: C.uint32_t(unsafe.Sizeof(C.ggufx_open_options{})),
		flags: C.uint32_t(o.Flags | extra), io: C.int32_t(o.IO),
		max_metadata_bytes: C.uint64_t(o.MaxMetadataBytes), max_keys: C.uint64_t(o.MaxKeys),
		max_tensors: C.uint64_t(o.MaxTensors), max_string_bytes: C.uint64_t(o.MaxStringBytes)}
	var from C.uintptr_t
	if reader != nil { // the library destroys it, also after a failure
		from = C.uintptr_t(cgo.NewHandle(reader))
	}
	var f *C.ggufx_file
	err = watched(&o.Watch, func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_open(&f, rtp, how, source, C.uint64_t(n), C.uint64_t(offset),
			C.int32_t(fd), from, &native, user, e), e)
	})
	if err != nil {
		return nil, err
	}
	return &File{hold(unsafe.Pointer(f), destroyFile)}, nil
}

// Open opens a path; any name of a split set opens the whole set.
func (rt *Runtime) Open(path string, options *OpenOptions) (*File, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return rt.open(options, C.GGUFX_GO_PATH, unsafe.Pointer(text), 0, 0, 0, nil, 0)
}

// OpenFile opens length bytes at offset of an open file, which stays the caller's; 0: to the end.
func (rt *Runtime) OpenFile(file *os.File, offset, length uint64, options *OpenOptions) (*File, error) {
	f, err := rt.open(options, C.GGUFX_GO_FD, nil, length, offset, file.Fd(), nil, 0)
	runtime.KeepAlive(file)
	return f, err
}

// OpenMemory opens a copy of bytes: C may not keep Go's memory.
func (rt *Runtime) OpenMemory(data []byte, options *OpenOptions) (*File, error) {
	return rt.open(options, C.GGUFX_GO_MEMORY, octets(data), uint64(len(data)), 0, 0, nil,
		OpenCopy)
}

// OpenReader opens size bytes of a reader, which is used during this call only. errors.Is and
// errors.As match the errors that it returns.
func (rt *Runtime) OpenReader(r io.ReaderAt, size int64, options *OpenOptions) (*File, error) {
	c := &callbacks{size: uint64(size)}
	c.read = func(offset uint64, data []byte) error {
		n, err := r.ReadAt(data, int64(offset))
		if n == len(data) {
			return nil
		}
		if err == nil {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	f, err := rt.open(options, C.GGUFX_GO_IO, nil, 0, 0, 0, c, 0)
	if c.panicked != nil {
		panic(c.panicked)
	}
	if e, ok := err.(*Error); ok && e.cause == nil {
		e.cause = c.cause
	}
	return f, err
}

// Close drops the file; models and slices keep theirs.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	return f.close()
}

func (f *File) enter() (*C.ggufx_file, error) {
	if f == nil {
		return nil, argument("no file")
	}
	p, err := f.handle.enter("file")
	return (*C.ggufx_file)(p), err
}

func destroyFile(p unsafe.Pointer) { C.ggufx_file_destroy((*C.ggufx_file)(p)) }

// FileInfo describes a file.
type FileInfo struct {
	Version                                 int
	BigEndian                               bool
	Alignment, Parts, MetaEnd, DataOffset   uint64
	FileSize, Metas, Tensors, Values, Bytes uint64
	Missing                                 uint64 // missing data bytes (metadata-only open)
}

// Info describes the file.
func (f *File) Info() (FileInfo, error) {
	fp, err := f.enter()
	if err != nil {
		return FileInfo{}, err
	}
	defer f.leave()
	out, e := C.ggufx_file_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_file_info(&out, fp, e), e)
	if err != nil {
		return FileInfo{}, err
	}
	return FileInfo{int(out.version), out.big_endian != 0, uint64(out.alignment),
		uint64(out.n_parts), uint64(out.meta_end), uint64(out.data_offset), uint64(out.file_size),
		uint64(out.n_meta), uint64(out.n_tensors), uint64(out.n_values), uint64(out.n_bytes),
		uint64(out.n_missing)}, nil
}

// Finding is a remark of Validate.
type Finding struct {
	Severity      LogLevel
	Status        Status // status that open would return; StatusOk for a note
	Offset, Index uint64 // or None
	Text, Name    string
}

// Validate checks the file beyond what open refuses; report may return false to stop.
func (f *File) Validate(flags ValidateFlags, report func(*Finding) bool, watch *Watch) error {
	fp, err := f.enter()
	if err != nil {
		return err
	}
	defer f.leave()
	c := callbacks{finding: report}
	follow := C.int(0)
	if watch != nil && !watch.unset() {
		c.watch, follow = *watch, 1
	}
	return c.run(func(user C.uintptr_t) error {
		e := record()
		return done(C.ggufx_go_validate(fp, C.uint32_t(flags), user, follow, e), e)
	})
}
