// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import "unsafe"

// TypeInfo describes a tensor or KV type.
type TypeInfo struct {
	Name        string // "q4_K"
	Flags       TypeFlags
	BlockValues int // 0: a head of the cache is the block
	BlockBytes  int
}

// Info describes a tensor type. Errors: TYPE.
func (t TensorType) Info() (TypeInfo, error) {
	out, e := C.ggufx_type_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if err := done(C.ggufx_type_info(&out, C.uint32_t(t), e), e); err != nil {
		return TypeInfo{}, err
	}
	return TypeInfo{C.GoString(out.name), TypeFlags(out.flags), int(out.block_values),
		int(out.block_bytes)}, nil
}

// String returns the name of the type.
func (t TensorType) String() string {
	info, err := t.Info()
	if err != nil {
		return "unknown"
	}
	return info.Name
}

// RowBytes returns the bytes of a row of n values. Errors: TYPE, SHAPE, OVERFLOW.
func (t TensorType) RowBytes(n uint64) (uint64, error) {
	var out C.uint64_t
	e := record()
	err := done(C.ggufx_row_bytes(&out, C.uint32_t(t), C.uint64_t(n), e), e)
	return uint64(out), err
}

// TensorTypeFromName finds a type by name, without regard to case. Errors: NOT_FOUND.
func TensorTypeFromName(name string) (TensorType, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var out C.uint32_t
	e := record()
	err := done(C.ggufx_type_from_name(&out, text, e), e)
	return TensorType(out), err
}

// Info describes a KV type. Errors: TYPE.
func (t KVType) Info() (TypeInfo, error) {
	out, e := C.ggufx_kv_type_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if err := done(C.ggufx_kv_type_info(&out, C.uint32_t(t), e), e); err != nil {
		return TypeInfo{}, err
	}
	return TypeInfo{C.GoString(out.name), TypeFlags(out.flags), int(out.block_values),
		int(out.block_bytes)}, nil
}

// KVTypeFromName finds a KV type by name, without regard to case. Errors: NOT_FOUND.
func KVTypeFromName(name string) (KVType, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var out C.uint32_t
	e := record()
	err := done(C.ggufx_kv_type_from_name(&out, text, e), e)
	return KVType(out), err
}

// view shows n bytes of the library's.
func view(text *C.char, n C.size_t) []byte {
	if text == nil || n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(text)), int(n))
}

// chars is the address of a string's bytes, which C only reads during the call.
func chars(text []byte) (*C.char, C.size_t) {
	if len(text) == 0 {
		return &empty, 0
	}
	return (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text))
}

var empty C.char

func floats(s []float32) *C.float {
	if len(s) == 0 {
		return nil
	}
	return (*C.float)(unsafe.Pointer(&s[0]))
}

func ints(s []int32) *C.int32_t {
	if len(s) == 0 {
		return nil
	}
	return (*C.int32_t)(unsafe.Pointer(&s[0]))
}

func words(s []uint32) *C.uint32_t {
	if len(s) == 0 {
		return nil
	}
	return (*C.uint32_t)(unsafe.Pointer(&s[0]))
}

func quads(s []uint64) *C.uint64_t {
	if len(s) == 0 {
		return nil
	}
	return (*C.uint64_t)(unsafe.Pointer(&s[0]))
}

func octets(s []byte) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}
