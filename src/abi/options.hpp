// Import of option structs and export of fact structs, both with a size stated by the caller.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/status.hpp"

#include <ggufx/base.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

namespace ggufx::abi {

// Upper bound of struct sizes. A larger struct_size was never initialized, so it says nothing about
// the memory after the struct.
constexpr uint32_t kMostStructBytes = 4096;

// Returns true if the caller's struct, whose size is not checked yet, has all members of T.
template <class T> bool holds_all(const T &given) {
    return given.struct_size >= sizeof(T) && given.struct_size <= kMostStructBytes;
}

// Imports an option struct that starts with {struct_size, flags}. Defaults are all zero; `in` may be
// null. Shorter structs are accepted, and longer ones if the additional bytes are zero. Throws for
// unknown flags and a nonzero reserved field.
template <class T> T import_options(const T *in, uint32_t known_flags, const char *name);

// List of structs that begin with {struct_size, flags}; the size of the first is their distance.
template <class T> class StructList {
public:
    // Throws argument if the distance is no size of T.
    StructList(const T *items, size_t n, uint32_t known_flags, const char *name);
    size_t size() const { return n_; }
    T at(size_t i) const; // throws as import_options

private:
    const unsigned char *items_;
    size_t n_, distance_ = 0;
    uint32_t known_flags_;
    const char *name_;
};

// Writes an output struct, up to the caller's struct_size. Throws argument if that is smaller than
// the header or larger than kMostStructBytes.
template <class T> void export_struct(T *out, T value, const char *name);
// Does the same check before work whose result the struct will hold.
template <class T> void check_output(const T *out, const char *name);

namespace detail {
uint32_t stated_size(const void *given, const char *name); // throws
void refuse_reserved(const char *name, uint32_t value);
void import_bytes(void *out, size_t size, const void *in, uint32_t known_flags, const char *name);
uint32_t stated_distance(const void *first, size_t align, const char *name);
void export_bytes(void *out, const void *value, size_t size, const char *name);
} // namespace detail

template <class T> T import_options(const T *in, uint32_t known_flags, const char *name) {
    T out;
    memset(&out, 0, sizeof out);
    out.struct_size = sizeof out;
    if (in) detail::import_bytes(&out, sizeof out, in, known_flags, name);
    if constexpr (requires { out.reserved; })
        if (out.reserved) detail::refuse_reserved(name, out.reserved);
    return out;
}
template <class T>
StructList<T>::StructList(const T *items, size_t n, uint32_t known_flags, const char *name)
    : items_(reinterpret_cast<const unsigned char *>(items)), n_(n), known_flags_(known_flags),
      name_(name) {
    if (n) distance_ = detail::stated_distance(items, alignof(T), name);
}
template <class T> T StructList<T>::at(size_t i) const {
    try {
        return import_options(reinterpret_cast<const T *>(items_ + i * distance_), known_flags_,
                              name_);
    } catch (Error &e) {
        e.failure.index = i;
        throw;
    }
}
template <class T> void check_output(const T *out, const char *name) {
    (void)detail::stated_size(out, name);
}
template <class T> void export_struct(T *out, T value, const char *name) {
    value.struct_size = sizeof value;
    detail::export_bytes(out, &value, sizeof value, name);
}

// Returns the bytes of a text, "" if it is absent. Throws argument, with the name, if it has a size
// and no bytes.
std::string_view import_text(const ggufx_text &text, const char *name);

// Throws capacity if an output needs more elements than its buffer holds: "the text has 7 bytes".
void check_capacity(size_t needed, size_t capacity, const char *owner, const char *elements);

// Imports the caller's progress callback; null gives none. Throws.
Progress import_progress(const ggufx_progress *given);

} // namespace ggufx::abi
