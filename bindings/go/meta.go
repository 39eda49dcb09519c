// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// Meta is a key and its value; it keeps the File reachable.
type Meta struct {
	file  *File
	index C.size_t
	entry C.ggufx_meta_entry
}

// MetaCount returns the number of keys.
func (f *File) MetaCount() int {
	p, err := f.enter()
	if err != nil {
		return 0
	}
	defer f.leave()
	return int(C.ggufx_file_meta_count(p))
}

// MetaAt returns key number i in file order. Errors: ARGUMENT.
func (f *File) MetaAt(i int) (*Meta, error) {
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	m, e := &Meta{file: f, index: C.size_t(i)}, record()
	m.entry.struct_size = C.uint32_t(unsafe.Sizeof(m.entry))
	err = done(C.ggufx_file_meta_at(&m.entry, fp, m.index, e), e)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Meta finds a key. Errors: NOT_FOUND.
func (f *File) Meta(key string) (*Meta, error) {
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	text, n := chars([]byte(key))
	var out C.size_t
	e := record()
	err = done(C.ggufx_file_meta_find(&out, fp, text, n, e), e)
	if err != nil {
		return nil, err
	}
	return f.MetaAt(int(out))
}

// Index returns its number in the file.
func (m *Meta) Index() int { return int(m.index) }

// Key returns the key; "" for a nested array.
func (m *Meta) Key() string {
	if _, err := m.file.enter(); err != nil {
		return ""
	}
	defer m.file.leave()
	return string(view(m.entry.key, m.entry.key_length))
}

// Type returns the type of the value.
func (m *Meta) Type() MetaType { return MetaType(m.entry._type) }

// ElementType returns the type of an array's elements, -1 of others.
func (m *Meta) ElementType() MetaType { return MetaType(m.entry.element_type) }

// Count returns the elements of an array, bytes of a string, else 1.
func (m *Meta) Count() uint64 { return uint64(m.entry.count) }

// Offset of the value in the file.
func (m *Meta) Offset() uint64 { return uint64(m.entry.offset) }

// Uint64 returns an integer that fits. Errors: KVTYPE, VALUE.
func (m *Meta) Uint64() (uint64, error) {
	fp, err := m.file.enter()
	if err != nil {
		return 0, err
	}
	defer m.file.leave()
	var out C.uint64_t
	e := record()
	err = done(C.ggufx_file_meta_u64(&out, fp, m.index, e), e)
	return uint64(out), err
}

// Int64 returns an integer that fits. Errors: KVTYPE, VALUE.
func (m *Meta) Int64() (int64, error) {
	fp, err := m.file.enter()
	if err != nil {
		return 0, err
	}
	defer m.file.leave()
	var out C.int64_t
	e := record()
	err = done(C.ggufx_file_meta_i64(&out, fp, m.index, e), e)
	return int64(out), err
}

// Float64 returns a number that loses nothing. Errors: KVTYPE, VALUE.
func (m *Meta) Float64() (float64, error) {
	fp, err := m.file.enter()
	if err != nil {
		return 0, err
	}
	defer m.file.leave()
	var out C.double
	e := record()
	err = done(C.ggufx_file_meta_f64(&out, fp, m.index, e), e)
	return float64(out), err
}

// Bool returns a bool. Errors: KVTYPE.
func (m *Meta) Bool() (bool, error) {
	fp, err := m.file.enter()
	if err != nil {
		return false, err
	}
	defer m.file.leave()
	var out C.int32_t
	e := record()
	err = done(C.ggufx_file_meta_bool(&out, fp, m.index, e), e)
	return out != 0, err
}

// Text returns a string, which may hold any bytes. Errors: KVTYPE.
func (m *Meta) Text() (string, error) {
	fp, err := m.file.enter()
	if err != nil {
		return "", err
	}
	defer m.file.leave()
	var out *C.char
	var n C.size_t
	e := record()
	err = done(C.ggufx_file_meta_string(&out, &n, fp, m.index, e), e)
	text := string(view(out, n))
	return text, err
}

// Uint64s fills out with elements first.. of an array of numbers or bools.
func (m *Meta) Uint64s(first uint64, out []uint64) error {
	fp, err := m.file.enter()
	if err != nil {
		return err
	}
	defer m.file.leave()
	e := record()
	return done(C.ggufx_file_meta_array_u64(quads(out), fp, m.index, C.uint64_t(first),
		C.size_t(len(out)), e), e)
}

// Int64s is Uint64s, signed.
func (m *Meta) Int64s(first uint64, out []int64) error {
	fp, err := m.file.enter()
	if err != nil {
		return err
	}
	defer m.file.leave()
	var to *C.int64_t
	if len(out) > 0 {
		to = (*C.int64_t)(unsafe.Pointer(&out[0]))
	}
	e := record()
	return done(C.ggufx_file_meta_array_i64(to, fp, m.index, C.uint64_t(first),
		C.size_t(len(out)), e), e)
}

// Float64s is Uint64s, floating point.
func (m *Meta) Float64s(first uint64, out []float64) error {
	fp, err := m.file.enter()
	if err != nil {
		return err
	}
	defer m.file.leave()
	var to *C.double
	if len(out) > 0 {
		to = (*C.double)(unsafe.Pointer(&out[0]))
	}
	e := record()
	return done(C.ggufx_file_meta_array_f64(to, fp, m.index, C.uint64_t(first),
		C.size_t(len(out)), e), e)
}

// TextAt returns string i of an array of strings.
func (m *Meta) TextAt(i uint64) (string, error) {
	fp, err := m.file.enter()
	if err != nil {
		return "", err
	}
	defer m.file.leave()
	var out *C.char
	var n C.size_t
	e := record()
	err = done(C.ggufx_file_meta_array_string(&out, &n, fp, m.index, C.uint64_t(i), e), e)
	text := string(view(out, n))
	return text, err
}

// Nested returns array i of an array of arrays.
func (m *Meta) Nested(i uint64) (*Meta, error) {
	fp, err := m.file.enter()
	if err != nil {
		return nil, err
	}
	defer m.file.leave()
	var out C.size_t
	e := record()
	err = done(C.ggufx_file_meta_array_nested(&out, fp, m.index, C.uint64_t(i), e), e)
	if err != nil {
		return nil, err
	}
	return m.file.MetaAt(int(out))
}
