// Layout of the public structs and values, asserted at compile time, and struct sizes by name.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "base/cpu.hpp"
#include "gguf/file.hpp"

#include <ggufx/ggufx.h>
#include <stddef.h>
#include <string.h>

using ggufx::Failure;
using ggufx::Status;

namespace {

struct WordAfterByte {
    char byte;
    uint64_t word;
};
// Column of layout.def that applies to this target.
constexpr int kColumn = sizeof(void *) == 8 ? 0 : offsetof(WordAfterByte, word) == 8 ? 1 : 2;
constexpr size_t pick(size_t lp64, size_t ilp32, size_t i386) {
    return kColumn == 0 ? lp64 : kColumn == 1 ? ilp32 : i386;
}

#define S(name, lp64, ilp32, i386)                                                                 \
    static_assert(sizeof(name) == pick(lp64, ilp32, i386), "size of " #name);                      \
    static_assert(lp64 % 8 == 0, "size of " #name " is not a multiple of 8");
#define F(name, field, lp64, ilp32, i386)                                                          \
    static_assert(offsetof(name, field) == pick(lp64, ilp32, i386), #name "." #field);
#include "abi/layout.def"
#undef S
#undef F

// The error struct is filled by code that knows only its internal mirror.
static_assert(sizeof(Failure) == sizeof(ggufx_error));
static_assert(alignof(Failure) == alignof(ggufx_error));
static_assert(offsetof(Failure, status) == offsetof(ggufx_error, status));
static_assert(offsetof(Failure, system_error) == offsetof(ggufx_error, system_error));
static_assert(offsetof(Failure, offset) == offsetof(ggufx_error, offset));
static_assert(offsetof(Failure, index) == offsetof(ggufx_error, index));
static_assert(offsetof(Failure, reserved) == offsetof(ggufx_error, reserved));
static_assert(offsetof(Failure, message) == offsetof(ggufx_error, message));
static_assert(GGUFX_NONE == ggufx::kNone);

// Status codes: value, public and internal name; they never change.
#define SAME(value, code, internal)                                                                \
    static_assert(code == value && static_cast<int32_t>(Status::internal) == value, #code);
SAME(0, GGUFX_OK, ok)
SAME(-1, GGUFX_E_ARGUMENT, argument)
SAME(-2, GGUFX_E_MEMORY, memory)
SAME(-3, GGUFX_E_IO, io)
SAME(-4, GGUFX_E_TRUNCATED, truncated)
SAME(-5, GGUFX_E_MAGIC, magic)
SAME(-6, GGUFX_E_VERSION, version)
SAME(-7, GGUFX_E_ENDIAN, endian)
SAME(-8, GGUFX_E_MALFORMED, malformed)
SAME(-9, GGUFX_E_LIMIT, limit)
SAME(-10, GGUFX_E_TYPE, type)
SAME(-11, GGUFX_E_UNSUPPORTED, unsupported)
SAME(-12, GGUFX_E_NOT_FOUND, not_found)
SAME(-13, GGUFX_E_CAPACITY, capacity)
SAME(-14, GGUFX_E_CANCELLED, cancelled)
SAME(-15, GGUFX_E_CHECKSUM, checksum)
SAME(-16, GGUFX_E_MISMATCH, mismatch)
SAME(-17, GGUFX_E_STATE, state)
SAME(-18, GGUFX_E_INTERNAL, internal)
SAME(-19, GGUFX_E_DEVICE, device)
SAME(-32, GGUFX_E_COUNT, count)
SAME(-33, GGUFX_E_LENGTH, length)
SAME(-34, GGUFX_E_KEY, key)
SAME(-35, GGUFX_E_VALUE_TYPE, kvtype)
SAME(-36, GGUFX_E_VALUE, value)
SAME(-37, GGUFX_E_DUPLICATE, duplicate)
SAME(-38, GGUFX_E_ALIGNMENT, alignment)
SAME(-39, GGUFX_E_NAME, name)
SAME(-40, GGUFX_E_NDIMS, ndims)
SAME(-41, GGUFX_E_SHAPE, shape)
SAME(-42, GGUFX_E_OVERFLOW, overflow)
SAME(-43, GGUFX_E_OFFSET, offset)
SAME(-44, GGUFX_E_BOUNDS, bounds)
SAME(-45, GGUFX_E_SPLIT, split)
SAME(-48, GGUFX_E_VOCAB, vocab)
SAME(-49, GGUFX_E_HYPERPARAMETER, hparam)
SAME(-50, GGUFX_E_MISSING, missing)
#undef SAME

// Other values with an internal mirror.
#define SAME(code, internal) static_assert(uint64_t(code) == uint64_t(internal), #code);
SAME(GGUFX_CPU_AVX2, ggufx::cpu::avx2)
SAME(GGUFX_CPU_AVXVNNI, ggufx::cpu::avxvnni)
SAME(GGUFX_CPU_AVX512, ggufx::cpu::avx512)
SAME(GGUFX_CPU_AVX512VBMI, ggufx::cpu::avx512vbmi)
SAME(GGUFX_CPU_AVX512BITALG, ggufx::cpu::avx512bitalg)
SAME(GGUFX_CPU_NEON, ggufx::cpu::neon)
SAME(GGUFX_CPU_NEON_DOT, ggufx::cpu::neon_dot)
SAME(GGUFX_CPU_NEON_I8MM, ggufx::cpu::neon_i8mm)
SAME(GGUFX_LOG_ERROR, ggufx::LogLevel::error)
SAME(GGUFX_LOG_DEBUG, ggufx::LogLevel::debug)
SAME(GGUFX_VALUE_U8, ggufx::gguf::ValueType::u8)
SAME(GGUFX_VALUE_BOOL, ggufx::gguf::ValueType::boolean)
SAME(GGUFX_VALUE_STRING, ggufx::gguf::ValueType::string)
SAME(GGUFX_VALUE_ARRAY, ggufx::gguf::ValueType::array)
SAME(GGUFX_VALUE_F64, ggufx::gguf::ValueType::f64)
#undef SAME

// Tensor type ids are those of the GGUF file format.
#define X(name, id, ...) static_assert(GGUFX_TYPE_##name == id);
#include "formats/formats.def"
#undef X
#undef REMOVED

struct StructSize {
    const char *name;
    size_t n_bytes;
};
constexpr StructSize kStructs[] = {
#define S(name, lp64, ilp32, i386) {#name, sizeof(name)},
#define F(name, field, lp64, ilp32, i386)
#include "abi/layout.def"
#undef S
#undef F
};

} // namespace

extern "C" size_t ggufx_struct_size(const char *struct_name) {
    if (!struct_name) return 0;
    for (const StructSize &s : kStructs)
        if (strcmp(s.name, struct_name) == 0) return s.n_bytes;
    return 0;
}
