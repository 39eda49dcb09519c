// Look-ups in the tables of characters.
// SPDX-License-Identifier: MIT
#include "chat/unicode.hpp"

#include <algorithm>
#include <iterator>

namespace ggufx::chat {

namespace {

struct Span {
    uint32_t low, high;
};
struct CaseRun { // every step-th character from low to high, at one distance
    uint32_t low, high;
    uint32_t step;
    int32_t delta;
};
struct CaseText {
    uint32_t code;
    uint32_t to[3]; // ends with 0
};

#include "chat/unicode_tables.inc"

template <size_t N> bool within(const Span (&spans)[N], uint32_t code) {
    const Span *const at = std::upper_bound(
        spans, spans + N, code, [](uint32_t c, const Span &span) { return c < span.low; });
    return at != spans && code <= at[-1].high;
}

template <size_t N, size_t M>
size_t change(uint32_t out[3], uint32_t code, const CaseRun (&runs)[N],
              const CaseText (&texts)[M]) {
    const CaseText *const text = std::lower_bound(
        texts, texts + M, code, [](const CaseText &t, uint32_t c) { return t.code < c; });
    if (text != texts + M && text->code == code) {
        size_t n = 0;
        for (; n < 3 && text->to[n]; n++) out[n] = text->to[n];
        return n;
    }
    const CaseRun *const at = std::upper_bound(
        runs, runs + N, code, [](uint32_t c, const CaseRun &run) { return c < run.low; });
    const bool found = at != runs && code <= at[-1].high && (code - at[-1].low) % at[-1].step == 0;
    out[0] = found ? code + static_cast<uint32_t>(at[-1].delta) : code;
    return 1;
}

} // namespace

size_t change_case(uint32_t out[3], uint32_t code, Case to) {
    if (code < 0x80) {
        const bool small = code >= 'a' && code <= 'z', large = code >= 'A' && code <= 'Z';
        out[0] = to == Case::lower ? (large ? code + 32 : code) : (small ? code - 32 : code);
        return 1;
    }
    if (to == Case::upper) return change(out, code, upper_runs, upper_texts);
    if (to == Case::lower) return change(out, code, lower_runs, lower_texts);
    return change(out, code, title_runs, title_texts);
}

bool is_cased(uint32_t code) {
    return within(cased_spans, code);
}
bool is_case_ignorable(uint32_t code) {
    return within(ignorable_spans, code);
}
bool is_upper(uint32_t code) {
    return within(upper_spans, code);
}
bool is_lower(uint32_t code) {
    return within(lower_spans, code);
}
bool is_printable(uint32_t code) {
    return within(printable_spans, code);
}
bool is_alpha(uint32_t code) {
    return within(alpha_spans, code);
}
bool is_decimal(uint32_t code) {
    return within(decimal_spans, code);
}
bool is_digit(uint32_t code) {
    return is_decimal(code) || within(digit_spans, code);
}
bool is_numeric(uint32_t code) {
    return is_digit(code) || within(numeric_spans, code);
}

} // namespace ggufx::chat
