// Status names and error messages.
// SPDX-License-Identifier: MIT
#include "base/status.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx {

namespace {

struct Name {
    Status status;
    const char *name;
};
constexpr Name kNames[] = {
    {Status::ok, "OK"},
    {Status::argument, "ARGUMENT"},
    {Status::memory, "MEMORY"},
    {Status::io, "IO"},
    {Status::truncated, "TRUNCATED"},
    {Status::magic, "MAGIC"},
    {Status::version, "VERSION"},
    {Status::endian, "ENDIAN"},
    {Status::malformed, "MALFORMED"},
    {Status::limit, "LIMIT"},
    {Status::type, "TYPE"},
    {Status::unsupported, "UNSUPPORTED"},
    {Status::not_found, "NOT_FOUND"},
    {Status::capacity, "CAPACITY"},
    {Status::cancelled, "CANCELLED"},
    {Status::checksum, "CHECKSUM"},
    {Status::mismatch, "MISMATCH"},
    {Status::state, "STATE"},
    {Status::internal, "INTERNAL"},
    {Status::device, "DEVICE"},
    {Status::count, "COUNT"},
    {Status::length, "LENGTH"},
    {Status::key, "KEY"},
    {Status::kvtype, "VALUE_TYPE"},
    {Status::value, "VALUE"},
    {Status::duplicate, "DUPLICATE"},
    {Status::alignment, "ALIGNMENT"},
    {Status::name, "NAME"},
    {Status::ndims, "NDIMS"},
    {Status::shape, "SHAPE"},
    {Status::overflow, "OVERFLOW"},
    {Status::offset, "OFFSET"},
    {Status::bounds, "BOUNDS"},
    {Status::split, "SPLIT"},
    {Status::vocab, "VOCAB"},
    {Status::hparam, "HYPERPARAMETER"},
    {Status::missing, "MISSING"},
};

// Returns the length of the UTF-8 character at p (n bytes left), 0 if it is invalid.
size_t utf8_length(const unsigned char *p, size_t n) {
    if (p[0] < 0x80) return 1;
    const size_t want = p[0] >= 0xf0 && p[0] < 0xf5   ? 4
                        : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                        : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                                                      : 0;
    if (want == 0 || want > n) return 0;
    for (size_t i = 1; i < want; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0;
    if (p[0] == 0xed && p[1] > 0x9f) return 0;
    if (p[0] == 0xf0 && p[1] < 0x90) return 0;
    if (p[0] == 0xf4 && p[1] > 0x8f) return 0;
    return want;
}

// Returns whether a multibyte character moves a terminal's cursor or changes the text direction:
// U+0080 to 009F, 200E, 200F, 2028 to 202E, 2066 to 2069, FEFF.
bool is_mark(const unsigned char *p, size_t n) {
    if (n >= 2 && p[0] == 0xc2) return p[1] < 0xa0;
    if (n >= 3 && p[0] == 0xe2 && p[1] == 0x80)
        return p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae);
    if (n >= 3 && p[0] == 0xe2 && p[1] == 0x81) return p[2] >= 0xa6 && p[2] <= 0xa9;
    return n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf;
}

// Returns the length of a text of n bytes without an incomplete character at its end.
size_t whole_characters(const char *text, size_t n) {
    size_t start = n;
    while (start > 0 && n - start < 4 && (text[start - 1] & 0xc0) == 0x80) start--;
    if (start == 0) return n;
    start--;
    const auto *p = reinterpret_cast<const unsigned char *>(text);
    return p[start] >= 0x80 && utf8_length(p + start, n - start) == 0 ? start : n;
}

void fill(Failure *f, Status status, At at, const char *format, va_list args) {
    memset(f, 0, sizeof *f);
    f->status = static_cast<int32_t>(status);
    f->system_error = at.system_error;
    f->offset = at.offset;
    f->index = at.index;
    f->value = at.value;
    f->limit = at.limit;
    print_text_v(f->message, sizeof f->message, format, args);
}

} // namespace

size_t print_text_v(char *out, size_t size, const char *format, va_list args) {
    const int stated = vsnprintf(out, size, format, args);
    auto n = static_cast<size_t>(stated < 0 ? 0 : stated);
    if (n >= size) n = whole_characters(out, size - 1);
    out[n] = 0;
    return n;
}

size_t print_text(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const size_t n = print_text_v(out, size, format, args);
    va_end(args);
    return n;
}

const char *status_name(int32_t status) {
    for (const Name &n : kNames)
        if (static_cast<int32_t>(n.status) == status) return n.name;
    return "UNKNOWN";
}

Status set_failure(Failure *failure, Status status, At at, const char *format, ...) {
    if (failure) {
        va_list args;
        va_start(args, format);
        fill(failure, status, at, format, args);
        va_end(args);
    }
    return status;
}

void fail(Status status, At at, const char *format, ...) {
    Error e;
    va_list args;
    va_start(args, format);
    fill(&e.failure, status, at, format, args);
    va_end(args);
    throw e;
}

Quoted::Quoted(const char *data, uint64_t size) {
    static const char hex[] = "0123456789abcdef";
    const auto *p = reinterpret_cast<const unsigned char *>(data);
    const size_t n = size > sizeof text_ ? sizeof text_ : static_cast<size_t>(size);
    size_t out = 0;
    for (size_t i = 0; i < n;) {
        const bool plain = p[i] >= 0x20 && p[i] != 0x7f && !is_mark(p + i, n - i);
        const size_t step = plain ? utf8_length(p + i, n - i) : 0;
        const size_t need = step ? step : 4;
        if (out + need + 4 > sizeof text_) break;
        if (step) {
            memcpy(text_ + out, p + i, step);
        } else {
            const char escape[4] = {'\\', 'x', hex[p[i] >> 4], hex[p[i] & 15]};
            memcpy(text_ + out, escape, 4);
        }
        out += need;
        i += step ? step : 1;
        if (i == size) {
            text_[out] = 0;
            return;
        }
    }
    if (size > 0) {
        memcpy(text_ + out, "...", 3);
        out += 3;
    }
    text_[out] = 0;
}

} // namespace ggufx
