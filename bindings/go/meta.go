// SPDX-License-Identifier: MIT

package ggufx

// Meta is a key and its value.
type Meta struct {
	MetaFacts
	Index int // number of the key, or of the nested array, in the file
	file  *File
}

// Meta finds a key.
//
// Errors: StatusArgument, StatusNotFound.
func (f *File) Meta(key string) (*Meta, error) {
	i, err := f.MetaFind(key)
	return f.meta(i, err)
}

func (f *File) meta(i int, err error) (*Meta, error) {
	if err != nil {
		return nil, err
	}
	entry, err := f.MetaAt(i)
	if err != nil {
		return nil, err
	}
	return &Meta{entry, i, f}, nil
}

// Uint64 returns an integer that fits.
func (m *Meta) Uint64() (uint64, error) { return m.file.MetaU64(m.Index) }

// Int64 returns an integer that fits.
func (m *Meta) Int64() (int64, error) { return m.file.MetaI64(m.Index) }

// Float64 returns a number that loses nothing.
func (m *Meta) Float64() (float64, error) { return m.file.MetaF64(m.Index) }

// Bool returns a bool.
func (m *Meta) Bool() (bool, error) { return m.file.MetaBool(m.Index) }

// Text returns a string, which may hold any bytes.
func (m *Meta) Text() (string, error) { return m.file.MetaString(m.Index) }

// Uint64s returns elements first .. first + n - 1 of an array of numbers or bools.
func (m *Meta) Uint64s(first uint64, n int) ([]uint64, error) {
	return m.file.MetaArrayU64(m.Index, first, n)
}

// Int64s is Uint64s, signed.
func (m *Meta) Int64s(first uint64, n int) ([]int64, error) {
	return m.file.MetaArrayI64(m.Index, first, n)
}

// Float64s is Uint64s, floating point.
func (m *Meta) Float64s(first uint64, n int) ([]float64, error) {
	return m.file.MetaArrayF64(m.Index, first, n)
}

// TextAt returns string i of an array of strings.
func (m *Meta) TextAt(i uint64) (string, error) { return m.file.MetaArrayString(m.Index, i) }

// Nested returns array i of an array of arrays.
func (m *Meta) Nested(i uint64) (*Meta, error) {
	index, err := m.file.MetaArrayNested(m.Index, i)
	return m.file.meta(index, err)
}
