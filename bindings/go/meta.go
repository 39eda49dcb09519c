// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Meta is a key and its value; it keeps the File reachable.
type Meta struct {
	file  *File
	index C.size_t
	entry C.ggufx_meta_entry
}

// MetaCount gives the number of keys.
func (f *File) MetaCount() int {
	n := 0
	if f.ptr() != nil {
		n = int(C.ggufx_file_meta_count(f.p))
	}
	runtime.KeepAlive(f)
	return n
}

// MetaAt gives key number i in file order. Errors: ARGUMENT.
func (f *File) MetaAt(i int) (*Meta, error) {
	m, e := &Meta{file: f, index: C.size_t(i)}, record()
	m.entry.struct_size = C.uint32_t(unsafe.Sizeof(m.entry))
	err := done(C.ggufx_file_meta_at(&m.entry, f.ptr(), m.index, e), e)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Meta finds a key. Errors: NOT_FOUND.
func (f *File) Meta(key string) (*Meta, error) {
	text, n := chars([]byte(key))
	var out C.size_t
	e := record()
	err := done(C.ggufx_file_meta_find(&out, f.ptr(), text, n, e), e)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, err
	}
	return f.MetaAt(int(out))
}

// Index gives its number in the file.
func (m *Meta) Index() int { return int(m.index) }

// Key gives the key; "" for a nested array.
func (m *Meta) Key() string {
	key := ""
	if m.file.p != nil {
		key = string(view(m.entry.key, m.entry.key_length))
	}
	runtime.KeepAlive(m.file)
	return key
}

// Type gives the type of the value.
func (m *Meta) Type() MetaType { return MetaType(m.entry._type) }

// ElementType gives the type of an array's elements, -1 of others.
func (m *Meta) ElementType() MetaType { return MetaType(m.entry.element_type) }

// Count gives the elements of an array, bytes of a string, else 1.
func (m *Meta) Count() uint64 { return uint64(m.entry.count) }

// Offset of the value in the file.
func (m *Meta) Offset() uint64 { return uint64(m.entry.offset) }

// Uint64 gives an integer that fits. Errors: KVTYPE, VALUE.
func (m *Meta) Uint64() (uint64, error) {
	var out C.uint64_t
	e := record()
	err := done(C.ggufx_file_meta_u64(&out, m.file.ptr(), m.index, e), e)
	runtime.KeepAlive(m.file)
	return uint64(out), err
}

// Int64 gives an integer that fits. Errors: KVTYPE, VALUE.
func (m *Meta) Int64() (int64, error) {
	var out C.int64_t
	e := record()
	err := done(C.ggufx_file_meta_i64(&out, m.file.ptr(), m.index, e), e)
	runtime.KeepAlive(m.file)
	return int64(out), err
}

// Float64 gives a number that loses nothing. Errors: KVTYPE, VALUE.
func (m *Meta) Float64() (float64, error) {
	var out C.double
	e := record()
	err := done(C.ggufx_file_meta_f64(&out, m.file.ptr(), m.index, e), e)
	runtime.KeepAlive(m.file)
	return float64(out), err
}

// Bool gives a bool. Errors: KVTYPE.
func (m *Meta) Bool() (bool, error) {
	var out C.int32_t
	e := record()
	err := done(C.ggufx_file_meta_bool(&out, m.file.ptr(), m.index, e), e)
	runtime.KeepAlive(m.file)
	return out != 0, err
}

// Text gives a string, which may hold any bytes. Errors: KVTYPE.
func (m *Meta) Text() (string, error) {
	var out *C.char
	var n C.size_t
	e := record()
	err := done(C.ggufx_file_meta_string(&out, &n, m.file.ptr(), m.index, e), e)
	text := string(view(out, n))
	runtime.KeepAlive(m.file)
	return text, err
}

// Uint64s fills out with elements first.. of an array of numbers or bools.
func (m *Meta) Uint64s(first uint64, out []uint64) error {
	e := record()
	err := done(C.ggufx_file_meta_array_u64(quads(out), m.file.ptr(), m.index, C.uint64_t(first),
		C.size_t(len(out)), e), e)
	runtime.KeepAlive(m.file)
	return err
}

// Int64s is Uint64s, signed.
func (m *Meta) Int64s(first uint64, out []int64) error {
	var to *C.int64_t
	if len(out) > 0 {
		to = (*C.int64_t)(unsafe.Pointer(&out[0]))
	}
	e := record()
	err := done(C.ggufx_file_meta_array_i64(to, m.file.ptr(), m.index, C.uint64_t(first),
		C.size_t(len(out)), e), e)
	runtime.KeepAlive(m.file)
	return err
}

// Float64s is Uint64s, floating point.
func (m *Meta) Float64s(first uint64, out []float64) error {
	var to *C.double
	if len(out) > 0 {
		to = (*C.double)(unsafe.Pointer(&out[0]))
	}
	e := record()
	err := done(C.ggufx_file_meta_array_f64(to, m.file.ptr(), m.index, C.uint64_t(first),
		C.size_t(len(out)), e), e)
	runtime.KeepAlive(m.file)
	return err
}

// TextAt gives string i of an array of strings.
func (m *Meta) TextAt(i uint64) (string, error) {
	var out *C.char
	var n C.size_t
	e := record()
	err := done(C.ggufx_file_meta_array_string(&out, &n, m.file.ptr(), m.index, C.uint64_t(i), e), e)
	text := string(view(out, n))
	runtime.KeepAlive(m.file)
	return text, err
}

// Nested gives array i of an array of arrays.
func (m *Meta) Nested(i uint64) (*Meta, error) {
	var out C.size_t
	e := record()
	err := done(C.ggufx_file_meta_array_nested(&out, m.file.ptr(), m.index, C.uint64_t(i), e), e)
	runtime.KeepAlive(m.file)
	if err != nil {
		return nil, err
	}
	return m.file.MetaAt(int(out))
}
