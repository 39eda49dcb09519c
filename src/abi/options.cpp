// Checks of option structs as bytes, for callers with an older or newer version.
// SPDX-License-Identifier: MIT
#include "abi/options.hpp"

#include <inttypes.h>

namespace ggufx::abi {

std::string_view import_text(const ggufx_text &text, const char *name) {
    if (!text.data && text.size > 0) fail(Status::argument, {}, "%s is NULL and has a size", name);
    return {text.data ? text.data : "", text.size};
}

void check_capacity(size_t needed, size_t capacity, const char *owner, const char *elements) {
    if (needed <= capacity) return;
    fail(Status::capacity, {.value = needed, .limit = capacity},
         "%s has %" PRIu64 " %s, the buffer holds %" PRIu64, owner, static_cast<uint64_t>(needed),
         elements, static_cast<uint64_t>(capacity));
}

Progress import_progress(const ggufx_progress *given) {
    return given ? Progress{given->user, given->report} : Progress{};
}

namespace detail {

namespace {

// First members of every option struct.
struct Header {
    uint32_t struct_size;
    uint32_t flags;
};

} // namespace

uint32_t stated_size(const void *given, const char *name) {
    uint32_t size = 0;
    memcpy(&size, given, sizeof size);
    if (size < 2 * sizeof(uint32_t))
        fail(Status::argument, {}, "%s.struct_size is %u: set it to sizeof(%s)", name, size, name);
    if (size > kMostStructBytes)
        fail(Status::argument, {}, "%s.struct_size is %u: was it set? The limit is %u", name, size,
             kMostStructBytes);
    return size;
}

void refuse_reserved(const char *name, uint32_t value) {
    fail(Status::argument, {}, "%s.reserved must be 0 (it is %u)", name, value);
}

void import_bytes(void *out, size_t size, const void *in, uint32_t known_flags, const char *name) {
    const uint32_t given = stated_size(in, name);
    const auto *bytes = static_cast<const unsigned char *>(in);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            fail(Status::version, {},
                 "%s has %u bytes and sets byte %zu; this library knows %zu bytes of it", name,
                 given, i, size);
    memcpy(out, in, given < size ? given : size);
    Header header = {};
    memcpy(&header, out, sizeof header);
    const uint32_t own_size = static_cast<uint32_t>(size);
    memcpy(out, &own_size, sizeof own_size);
    if (header.flags & ~known_flags)
        fail(Status::argument, {}, "%s.flags has the unknown bits 0x%x", name,
             header.flags & ~known_flags);
}

uint32_t stated_distance(const void *first, size_t align, const char *name) {
    const uint32_t size = stated_size(first, name);
    if (size % align != 0)
        fail(Status::argument, {}, "%s.struct_size is %u: it must be a multiple of %zu in a list",
             name, size, align);
    return size;
}

void export_bytes(void *out, const void *value, size_t size, const char *name) {
    const uint32_t room = stated_size(out, name);
    memcpy(out, value, room < size ? room : size);
    if (room > size) memset(static_cast<unsigned char *>(out) + size, 0, room - size);
    memcpy(out, &room, sizeof room);
}

} // namespace detail

} // namespace ggufx::abi
