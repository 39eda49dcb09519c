// Layout of the public structs and values, asserted at compile time, and struct sizes by name.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "base/cpu.hpp"
#include "gguf/file.hpp"

#include <ggufx/ggufx.h>
#include <stddef.h>
#include <string.h>

using ggufx::Failure;

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

#define X(value, code, status, name) static_assert(code == (value), #code);
#include "base/status.def"
#undef X

// Other values with an internal mirror.
#define SAME(code, internal) static_assert(uint64_t(code) == uint64_t(internal), #code);
#define GGUFX_FEATURE(name, constant, bit) SAME(GGUFX_CPU_##constant, bit)
#include "base/cpu_features.def"
#undef GGUFX_FEATURE
#define GGUFX_INSTRUCTION_SET(name, constant, value) SAME(GGUFX_ISA_##constant, value)
#include "kernels/sets.def"
#undef GGUFX_INSTRUCTION_SET
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
