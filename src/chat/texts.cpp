// String functions for filters and methods: case, strip, replace, lines.
// SPDX-License-Identifier: MIT
#include "chat/native.hpp"

#include "base/unicode.hpp"

#include <string.h>

namespace ggufx::chat {

// ---- case ----

// Sigma has a special form at the end of a word.
static bool ends_word(std::string_view s, size_t at, size_t n) {
    size_t i = at;
    bool before = false;
    while (i > 0) {
        const size_t k = step_back(s, i);
        const uint32_t c = decode(s, i -= k);
        if (is_case_ignorable(c)) continue;
        before = is_cased(c);
        break;
    }
    if (!before) return false;
    for (size_t k = at + n; k < s.size(); k += step(s, k)) {
        const uint32_t c = decode(s, k);
        if (!is_case_ignorable(c)) return !is_cased(c);
    }
    return true;
}

constexpr uint32_t kSigma = 0x3a3, kFinalSigma = 0x3c2;

static void write_case(Meter &meter, TextBuilder &out, const Text &text, size_t i, size_t n,
                       uint32_t code, Case to) {
    uint32_t codes[3];
    const bool user = text.is_user(i);
    if (code == kSigma && to == Case::lower) {
        meter.charge_chars(text.size); // it scans the neighbourhood
        return out.add_code(ends_word(text.view(), i, n) ? kFinalSigma : 0x3c3, user);
    }
    const size_t k = change_case(codes, code, to);
    for (size_t m = 0; m < k; m++) out.add_code(codes[m], user);
}

const Text *with_case(Meter &meter, const Text &text, Casing casing) {
    TextBuilder out(meter);
    const std::string_view s = text.view();
    bool inside = false; // within a word, for title
    for (size_t i = 0, n; i < s.size(); i += n) {
        meter.charge(1);
        n = step(s, i);
        const uint32_t c = decode(s, i);
        Case to = casing == Casing::upper ? Case::upper : Case::lower;
        if (casing == Casing::capitalize && i == 0) to = Case::title;
        if (casing == Casing::title) to = inside ? Case::lower : Case::title;
        if (casing == Casing::swap) to = is_upper(c) ? Case::lower : Case::upper;
        inside = c < 0x80 ? (c | 32) >= 'a' && (c | 32) <= 'z' : is_cased(c);
        if (casing == Casing::swap && !is_upper(c) && !is_lower(c))
            out.add(text, i, i + n);
        else
            write_case(meter, out, text, i, n, c, to);
    }
    return out.finish();
}

// ---- strip ----

const Text *strip(Meter &meter, const Text &text, const Value &chars, bool left, bool right) {
    const std::string_view s = text.view();
    std::string_view set;
    const bool spaces = !given(chars) || chars.is(Kind::none);
    if (!spaces) set = text_argument(chars, "strip arg").view();
    const auto goes = [&](size_t i) {
        const size_t n = step(s, i);
        meter.charge_chars(1);
        if (spaces) return is_space(decode(s, i));
        meter.charge_chars(set.size());
        for (size_t k = 0; k < set.size(); k += step(set, k))
            if (set.substr(k, step(set, k)) == s.substr(i, n)) return true;
        return false;
    };
    size_t begin = 0, end = s.size();
    while (left && begin < end && goes(begin)) begin += step(s, begin);
    while (right && end > begin && goes(end - step_back(s, end))) end -= step_back(s, end);
    return part(meter, text, begin, end);
}

// ---- replace ----

const Text *replace(Meter &meter, const Text &text, const Text &from, const Text &to,
                    int64_t most) {
    if (most == 0) return &text;
    TextBuilder out(meter);
    const std::string_view s = text.view();
    size_t i = 0;
    if (from.size == 0) { // between all characters
        for (; most != 0; most -= most > 0) {
            meter.charge(1);
            out.add(to);
            if (i >= s.size()) break;
            const size_t n = step(s, i);
            out.add(text, i, i + n);
            i += n;
        }
        out.add(text, i, s.size());
        return out.finish();
    }
    Finder finder(meter, from.view());
    for (; most != 0; most -= most > 0) {
        const size_t at = finder.find(s, i);
        if (at == s.npos) break;
        meter.charge(1);
        out.add(text, i, at);
        out.add(to);
        i = at + from.size;
    }
    if (i == 0) return &text;
    out.add(text, i, s.size());
    return out.finish();
}

// ---- lines ----

static bool breaks_line(uint32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

List *split_lines(Meter &meter, const Text &text, bool keep_ends) {
    List *const out = make_list(meter);
    const std::string_view s = text.view();
    size_t begin = 0;
    for (size_t i = 0, n; i < s.size(); i += n) {
        meter.charge_chars(1);
        n = step(s, i);
        const uint32_t c = decode(s, i);
        if (!breaks_line(c)) continue;
        if (c == '\r' && i + 1 < s.size() && s[i + 1] == '\n') n = 2;
        append(meter, out, Value::of(part(meter, text, begin, keep_ends ? i + n : i)));
        begin = i + n;
    }
    if (begin < s.size()) append(meter, out, Value::of(part(meter, text, begin, s.size())));
    return out;
}

} // namespace ggufx::chat
