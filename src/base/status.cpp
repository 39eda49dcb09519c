// Status names and error messages.
// SPDX-License-Identifier: MIT
#include "base/status.hpp"

#include "base/utf8.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx {

namespace {

// Returns whether a character moves a terminal's cursor or changes the text direction.
bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

// Returns the length of a text of n bytes without an incomplete character at its end.
size_t whole_characters(const char *text, size_t n) {
    size_t start = n;
    while (start > 0 && n - start < 4 && (text[start - 1] & 0xc0) == 0x80) start--;
    if (start == 0) return n;
    start--;
    return first_character({text + start, n - start}).code == kBadByte ? start : n;
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
    switch (status) {
#define X(value, code, status, name)                                                               \
    case value:                                                                                    \
        return name;
#include "base/status.def"
#undef X
    default:
        return "UNKNOWN";
    }
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
        const Character c = first_character({data + i, n - i});
        const size_t step = c.code == kBadByte || is_control(c.code) ? 0 : c.length;
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
