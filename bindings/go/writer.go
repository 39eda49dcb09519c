// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Writer is a file to be: keys and tensors in the order they were added.
type Writer struct{ p *C.ggufx_writer }

// WriterOptions of NewWriter; nil is the default.
type WriterOptions struct {
	Flags        WriteFlags
	Version      uint32 // 2 or 3; 0: 3
	ReserveBytes uint64 // room for later edits
}

// NewWriter creates an empty writer. Errors: ARGUMENT, MEMORY, VERSION.
func (rt *Runtime) NewWriter(options *WriterOptions) (*Writer, error) {
	var o C.ggufx_writer_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.flags, o.version = C.uint32_t(options.Flags), C.uint32_t(options.Version)
		o.reserve_bytes = C.uint64_t(options.ReserveBytes)
	}
	w, e := new(Writer), record()
	err := done(C.ggufx_writer_create(&w.p, rt.ptr(), &o, e), e)
	runtime.KeepAlive(rt)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(w, (*Writer).Close)
	return w, nil
}

// Close lets go of all tensors; a file that was written stays.
func (w *Writer) Close() error {
	if w.p != nil {
		runtime.SetFinalizer(w, nil)
		C.ggufx_writer_destroy(w.p)
		w.p = nil
	}
	return nil
}

func (w *Writer) end(status C.ggufx_status, e *C.ggufx_error) error {
	err := done(status, e)
	runtime.KeepAlive(w)
	return err
}

// SetUint64 sets a key to an integer of the given type. Errors: ARGUMENT, KEY, VALUE, KVTYPE,
// ALIGNMENT, LIMIT, MEMORY.
func (w *Writer) SetUint64(key string, t MetaType, value uint64) error {
	k, n := chars([]byte(key))
	e := record()
	return w.end(C.ggufx_writer_set_u64(w.p, k, n, C.int32_t(t), C.uint64_t(value), e), e)
}

// SetInt64 is SetUint64, signed.
func (w *Writer) SetInt64(key string, t MetaType, value int64) error {
	k, n := chars([]byte(key))
	e := record()
	return w.end(C.ggufx_writer_set_i64(w.p, k, n, C.int32_t(t), C.int64_t(value), e), e)
}

// SetFloat64 is SetUint64, of type F32 or F64.
func (w *Writer) SetFloat64(key string, t MetaType, value float64) error {
	k, n := chars([]byte(key))
	e := record()
	return w.end(C.ggufx_writer_set_f64(w.p, k, n, C.int32_t(t), C.double(value), e), e)
}

// SetBool sets a key to a bool.
func (w *Writer) SetBool(key string, value bool) error {
	k, n := chars([]byte(key))
	number := C.int32_t(0)
	if value {
		number = 1
	}
	e := record()
	return w.end(C.ggufx_writer_set_bool(w.p, k, n, number, e), e)
}

// SetText sets a key to a string of any bytes.
func (w *Writer) SetText(key, text string) error {
	k, n := chars([]byte(key))
	from, length := chars([]byte(text))
	e := record()
	return w.end(C.ggufx_writer_set_string(w.p, k, n, from, length, e), e)
}

// Number is what arrays of metadata hold.
type Number interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64 | bool
}

func metaTypeOf(value any) MetaType {
	switch value.(type) {
	case uint8:
		return MetaU8
	case int8:
		return MetaI8
	case uint16:
		return MetaU16
	case int16:
		return MetaI16
	case uint32:
		return MetaU32
	case int32:
		return MetaI32
	case uint64:
		return MetaU64
	case int64:
		return MetaI64
	case float32:
		return MetaF32
	case float64:
		return MetaF64
	}
	return MetaBool
}

// SetArray sets a key to an array of numbers of the slice's type.
func SetArray[T Number](w *Writer, key string, elements []T) error {
	var zero T
	var from unsafe.Pointer
	if len(elements) > 0 {
		from = unsafe.Pointer(&elements[0])
	}
	return w.setArray(key, metaTypeOf(zero), from, len(elements))
}

func (w *Writer) setArray(key string, t MetaType, from unsafe.Pointer, count int) error {
	k, n := chars([]byte(key))
	e := record()
	return w.end(C.ggufx_writer_set_array(w.p, k, n, C.int32_t(t), from, C.size_t(count), e), e)
}

// SetTexts sets a key to an array of strings.
func (w *Writer) SetTexts(key string, texts []string) error {
	k, n := chars([]byte(key))
	var all []byte
	lengths := make([]C.size_t, len(texts)+1)
	for i, text := range texts {
		all = append(all, text...)
		lengths[i] = C.size_t(len(text))
	}
	from, _ := chars(all)
	e := record()
	return w.end(C.ggufx_go_writer_strings(w.p, k, n, from, &lengths[0], C.size_t(len(texts)), e), e)
}

// SetValue sets a key to a value of any type, given as bytes of a little-endian file.
func (w *Writer) SetValue(key string, t MetaType, value []byte) error {
	k, n := chars([]byte(key))
	e := record()
	return w.end(C.ggufx_writer_set_value(w.p, k, n, C.int32_t(t), octets(value),
		C.size_t(len(value)), e), e)
}

// Unset takes a key away. Errors: NOT_FOUND.
func (w *Writer) Unset(key string) error {
	k, n := chars([]byte(key))
	e := record()
	return w.end(C.ggufx_writer_unset(w.p, k, n, e), e)
}

// Rename gives a key another name. Errors: NOT_FOUND, KEY, DUPLICATE.
func (w *Writer) Rename(key, newKey string) error {
	k, n := chars([]byte(key))
	to, nTo := chars([]byte(newKey))
	e := record()
	return w.end(C.ggufx_writer_rename(w.p, k, n, to, nTo, e), e)
}

// CopyMeta sets all keys of a file.
func (w *Writer) CopyMeta(f *File) error {
	e := record()
	err := w.end(C.ggufx_writer_copy_meta(w.p, f.ptr(), e), e)
	runtime.KeepAlive(f)
	return err
}

// AddTensor adds a tensor under a name; "": its own. Its data are kept alive.
func (w *Writer) AddTensor(t *Tensor, name string) error {
	var at *C.char
	var n C.size_t
	if name != "" {
		at, n = chars([]byte(name))
	}
	e := record()
	err := w.end(C.ggufx_writer_add_tensor(w.p, t.ptr(), at, n, e), e)
	t.keep()
	return err
}

// CopyTensors adds all tensors of a file, or none.
func (w *Writer) CopyTensors(f *File) error {
	e := record()
	err := w.end(C.ggufx_writer_copy_tensors(w.p, f.ptr(), e), e)
	runtime.KeepAlive(f)
	return err
}

// AddStream adds a tensor whose data are made while the file is written: read fills data with bytes
// offset.. of the dense tensor.
func (w *Writer) AddStream(name string, t TensorType, ne []uint64,
	read func(offset uint64, data []byte) error) error {
	at, n := chars([]byte(name))
	user := cgo.NewHandle(&callbacks{read: read})
	e := record()
	return w.end(C.ggufx_go_writer_stream(w.p, at, n, C.uint32_t(t), C.uint32_t(len(ne)), quads(ne),
		C.uintptr_t(user), e), e)
}

// WriteOptions of a write; nil is one file.
type WriteOptions struct {
	MaxPartBytes, MaxPartTensors uint64 // 0: no limit
	Watch                        Watch
}

// WriterInfo is what a write would make.
type WriterInfo struct{ Metas, Tensors, Parts, Bytes uint64 }

func (w *Writer) write(path *C.char, info *C.ggufx_writer_facts, options *WriteOptions,
	user C.uintptr_t, follow C.int) error {
	var o WriteOptions
	if options != nil {
		o = *options
	}
	e := record()
	return w.end(C.ggufx_go_writer_write(w.p, path, info, C.uint64_t(o.MaxPartBytes),
		C.uint64_t(o.MaxPartTensors), user, follow, e), e)
}

// Info tells what a write with these options would make.
func (w *Writer) Info(options *WriteOptions) (WriterInfo, error) {
	var out C.ggufx_writer_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err := w.write(nil, &out, options, 0, 0)
	return WriterInfo{uint64(out.n_meta), uint64(out.n_tensors), uint64(out.n_parts),
		uint64(out.n_bytes)}, err
}

// Write writes to a path, whole or not at all. Errors: IO, STATE, CANCELLED, LIMIT.
func (w *Writer) Write(path string, options *WriteOptions) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var watch *Watch
	if options != nil {
		watch = &options.Watch
	}
	return watched(watch, func(user C.uintptr_t) error { return w.write(text, nil, options, user, 1) })
}

// WriteStream gives the parts in order, each one's bytes in order, to a function.
func (w *Writer) WriteStream(write func(part int, data []byte) error, options *WriteOptions) error {
	c, follow := callbacks{write: write}, C.int(0)
	if options != nil && !options.Watch.unset() {
		c.watch, follow = options.Watch, 1
	}
	return c.run(func(user C.uintptr_t) error { return w.write(nil, nil, options, user, follow) })
}
