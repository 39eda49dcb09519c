// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Writer is a file to be: keys and tensors in the order they were added.
type Writer struct{ *handle }

// WriterOptions of NewWriter; nil is the default.
type WriterOptions struct {
	Flags        WriterFlags
	Version      uint32 // 2 or 3; 0: 3
	ReserveBytes uint64 // room for later edits
}

// NewWriter creates an empty writer. Errors: ARGUMENT, MEMORY, VERSION.
func (rt *Runtime) NewWriter(options *WriterOptions) (*Writer, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var o C.ggufx_writer_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options != nil {
		o.flags, o.version = C.uint32_t(options.Flags), C.uint32_t(options.Version)
		o.reserve_bytes = C.uint64_t(options.ReserveBytes)
	}
	var w *C.ggufx_writer
	e := record()
	err = done(C.ggufx_writer_create(&w, rtp, &o, e), e)
	if err != nil {
		return nil, err
	}
	return &Writer{hold(unsafe.Pointer(w), destroyWriter)}, nil
}

// Close lets go of all tensors; a file that was written stays.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	return w.close()
}

func (w *Writer) enter() (*C.ggufx_writer, error) {
	if w == nil {
		return nil, argument("no writer")
	}
	p, err := w.handle.enter("writer")
	return (*C.ggufx_writer)(p), err
}

func destroyWriter(p unsafe.Pointer) { C.ggufx_writer_destroy((*C.ggufx_writer)(p)) }

// use runs a call that returns only a status.
func (w *Writer) use(call func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status) error {
	p, err := w.enter()
	if err != nil {
		return err
	}
	defer w.leave()
	e := record()
	return done(call(p, e), e)
}

// SetUint64 sets a key to an integer of the given type. Errors: ARGUMENT, KEY, VALUE, KVTYPE,
// ALIGNMENT, LIMIT, MEMORY.
func (w *Writer) SetUint64(key string, t MetaType, value uint64) error {
	k, n := chars([]byte(key))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_u64(p, k, n, C.int32_t(t), C.uint64_t(value), e)
	})
}

// SetInt64 is SetUint64, signed.
func (w *Writer) SetInt64(key string, t MetaType, value int64) error {
	k, n := chars([]byte(key))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_i64(p, k, n, C.int32_t(t), C.int64_t(value), e)
	})
}

// SetFloat64 is SetUint64, of type F32 or F64.
func (w *Writer) SetFloat64(key string, t MetaType, value float64) error {
	k, n := chars([]byte(key))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_f64(p, k, n, C.int32_t(t), C.double(value), e)
	})
}

// SetBool sets a key to a bool.
func (w *Writer) SetBool(key string, value bool) error {
	k, n := chars([]byte(key))
	number := C.int32_t(0)
	if value {
		number = 1
	}
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_bool(p, k, n, number, e)
	})
}

// SetText sets a key to a string of any bytes.
func (w *Writer) SetText(key, text string) error {
	k, n := chars([]byte(key))
	from, length := chars([]byte(text))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_string(p, k, n, from, length, e)
	})
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
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_array(p, k, n, C.int32_t(t), from, C.size_t(count), e)
	})
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
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_writer_strings(p, k, n, from, &lengths[0], C.size_t(len(texts)), e)
	})
}

// SetValue sets a key to a value of any type, given as bytes of a little-endian file.
func (w *Writer) SetValue(key string, t MetaType, value []byte) error {
	k, n := chars([]byte(key))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_set_value(p, k, n, C.int32_t(t), octets(value),
			C.size_t(len(value)), e)
	})
}

// Unset removes a key. Errors: NOT_FOUND.
func (w *Writer) Unset(key string) error {
	k, n := chars([]byte(key))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_unset(p, k, n, e)
	})
}

// Rename renames a key. Errors: NOT_FOUND, KEY, DUPLICATE.
func (w *Writer) Rename(key, newKey string) error {
	k, n := chars([]byte(key))
	to, nTo := chars([]byte(newKey))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_rename(p, k, n, to, nTo, e)
	})
}

// CopyMeta sets all keys of a file.
func (w *Writer) CopyMeta(f *File) error {
	fp, err := f.enter()
	if err != nil {
		return err
	}
	defer f.leave()
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_copy_meta(p, fp, e)
	})
}

// AddTensor adds a tensor under a name; "": its own. Its data are kept alive.
func (w *Writer) AddTensor(t *Tensor, name string) error {
	tp, err := t.enter()
	if err != nil {
		return err
	}
	defer t.leave()
	var at *C.char
	var n C.size_t
	if name != "" {
		at, n = chars([]byte(name))
	}
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_add_tensor(p, tp, at, n, e)
	})
}

// CopyTensors adds all tensors of a file, or none.
func (w *Writer) CopyTensors(f *File) error {
	fp, err := f.enter()
	if err != nil {
		return err
	}
	defer f.leave()
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_copy_tensors(p, fp, e)
	})
}

// CopyRank sets the keys and adds the tensors of a file for one of nRanks ranks of a group: the rows
// that it reads, or its layers where the group has whole ones. speeds are those of all ranks; nil: all
// the same.
func (w *Writer) CopyRank(f *File, rank, nRanks uint32, speeds []uint32, layers bool) error {
	if speeds != nil && len(speeds) != int(nRanks) {
		return argument("%d speeds of %d ranks", len(speeds), nRanks)
	}
	fp, err := f.enter()
	if err != nil {
		return err
	}
	defer f.leave()
	var flags C.uint32_t
	if layers {
		flags = C.GGUFX_GROUP_LAYERS
	}
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_writer_copy_rank(p, fp, C.uint32_t(rank), C.uint32_t(nRanks), words(speeds), flags, e)
	})
}

// AddStream adds a tensor whose data are generated while the file is written: read fills data with
// bytes offset.. of the dense tensor.
func (w *Writer) AddStream(name string, t TensorType, ne []uint64,
	read func(offset uint64, data []byte) error) error {
	at, n := chars([]byte(name))
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		user := cgo.NewHandle(&callbacks{read: read}) // the library destroys it, also after a failure
		return C.ggufx_go_writer_stream(p, at, n, C.uint32_t(t), C.uint32_t(len(ne)), quads(ne),
			C.uintptr_t(user), e)
	})
}

// WriteOptions of a write; nil is one file.
type WriteOptions struct {
	MaxPartBytes, MaxPartTensors uint64 // 0: no limit
	Watch                        Watch
}

// WriterInfo describes the result of a write.
type WriterInfo struct{ Metas, Tensors, Parts, Bytes uint64 }

func (w *Writer) write(path *C.char, info *C.ggufx_writer_facts, options *WriteOptions,
	user C.uintptr_t, follow C.int) error {
	var o WriteOptions
	if options != nil {
		o = *options
	}
	return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_go_writer_write(p, path, info, C.uint64_t(o.MaxPartBytes),
			C.uint64_t(o.MaxPartTensors), user, follow, e)
	})
}

// Info describes the result of a write with these options.
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

// WriteStream passes the parts in order, each one's bytes in order, to a function.
func (w *Writer) WriteStream(write func(part int, data []byte) error, options *WriteOptions) error {
	c, follow := callbacks{write: write}, C.int(0)
	if options != nil && !options.Watch.unset() {
		c.watch, follow = options.Watch, 1
	}
	return c.run(func(user C.uintptr_t) error { return w.write(nil, nil, options, user, follow) })
}
