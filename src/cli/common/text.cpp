// UTF-8 and escapes for terminals; quantities with units; the edit distance of words.
// SPDX-License-Identifier: MIT
#include "common/text.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace ggufx::cli {

static uint32_t byte_at(std::string_view text, size_t i) {
    return static_cast<unsigned char>(text[i]);
}

size_t utf8_length(std::string_view text) {
    if (text.empty()) return 0;
    const Character c = first_character(text);
    return c.code == kBadByte ? 0 : c.length;
}

bool is_utf8(std::string_view text) {
    return first_invalid(text) == text.size();
}

size_t count_characters(std::string_view text) {
    size_t count = 0;
    for (; !text.empty(); count++) {
        size_t n = utf8_length(text);
        if (n == 0) {
            const size_t most = std::min<size_t>(lead_length(text[0]), text.size());
            for (n = 1; n < most && (text[n] & 0xc0) == 0x80;) n++;
        }
        text.remove_prefix(n);
    }
    return count;
}

static std::string escape_point(uint32_t point) {
    switch (point) {
    case '\n':
        return "\\n";
    case '\t':
        return "\\t";
    case '\r':
        return "\\r";
    default:
        return point < 0x80 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{{{:x}}}", point);
    }
}

static std::string escape_text(std::string_view text, bool keep_layout, size_t limit) {
    std::string out;
    for (size_t shown = 0; !text.empty(); shown++) {
        if (shown == limit) return out + "…";
        const Character c = first_character(text);
        const bool kept = keep_layout && (c.code == '\n' || c.code == '\t');
        if (c.code == kBadByte) {
            out += fmt::format("\\x{:02x}", byte_at(text, 0));
        } else if (is_unsafe_to_show(c.code) && !kept) {
            out += escape_point(c.code);
        } else {
            out += text.substr(0, c.length);
        }
        text.remove_prefix(c.length);
    }
    return out;
}

std::string escape(std::string_view text) {
    return escape_text(text, false, SIZE_MAX);
}
std::string escape_controls(std::string_view text) {
    return escape_text(text, true, SIZE_MAX);
}
std::string shorten(std::string_view text, size_t limit) {
    return escape_text(text, false, limit);
}

// Returns the columns of a character on a terminal: 2 in wide blocks, 0 for combining characters.
static size_t columns_of_point(uint32_t point) {
    static constexpr uint32_t kWide[][2] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    // Combining marks, joiners and variation selectors of the scripts in common use.
    static constexpr uint32_t kNone[][2] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x5c1, 0x5c2},    {0x610, 0x61a},
        {0x64b, 0x65f},   {0x670, 0x670},   {0x6d6, 0x6dc},   {0x93a, 0x93a},    {0x93c, 0x93c},
        {0x941, 0x948},   {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},    {0xe47, 0xe4e},
        {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},  {0x302a, 0x302d},
        {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
    for (const auto &[first, last] : kNone) {
        if (point >= first && point <= last) return 0;
    }
    for (const auto &[first, last] : kWide) {
        if (point >= first && point <= last) return 2;
    }
    return 1;
}

// Returns the bytes of `text` that fit into `columns`, and sets `columns` to those that they take.
static size_t fitting(std::string_view text, size_t &columns) {
    size_t at = 0, taken = 0;
    while (at < text.size()) {
        const Character c = first_character(text.substr(at));
        const size_t next = c.code == kBadByte ? 1 : columns_of_point(c.code);
        if (taken + next > columns) break;
        taken += next;
        at += c.length;
    }
    columns = taken;
    return at;
}

size_t columns_of(std::string_view text) {
    size_t columns = SIZE_MAX;
    fitting(text, columns);
    return columns;
}

std::string cut_to(std::string_view text, size_t columns) {
    size_t taken = columns;
    if (fitting(text, taken) == text.size()) return std::string(text);
    taken = columns > 0 ? columns - 1 : 0;
    return std::string(text.substr(0, fitting(text, taken))) + "…";
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    out += escape(text);
    out += '"';
    return out;
}

std::string hex(std::string_view bytes) {
    std::string out;
    for (size_t i = 0; i < bytes.size(); i++) out += fmt::format("{:02x}", byte_at(bytes, i));
    return out;
}

static std::string scaled(double value, double base, const char *const *units, size_t n_units) {
    size_t unit = 0;
    while (value >= base && unit + 1 < n_units) {
        value /= base;
        unit++;
    }
    const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : digits, units[unit]);
}

std::string bytes_text(uint64_t bytes) {
    static const char *const kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    return scaled(static_cast<double>(bytes), 1024, kUnits, 5);
}

std::string count_text(uint64_t count) {
    static const char *const kUnits[] = {"", "K", "M", "G", "T"};
    std::string text = scaled(static_cast<double>(count), 1000, kUnits, 5);
    if (text.back() == ' ') text.pop_back();
    return text;
}

std::string time_text(double seconds) {
    if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
    if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
    return fmt::format("{:.2f} s", seconds);
}

// Returns the edits (insert, delete, replace, swap of neighbours) between two words, ignoring case.
static size_t distance(std::string_view a, std::string_view b) {
    const auto same = [&](size_t i, size_t j) {
        return std::tolower(static_cast<int>(byte_at(a, i))) ==
               std::tolower(static_cast<int>(byte_at(b, j)));
    };
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++) d[i][0] = i;
    for (size_t j = 0; j <= b.size(); j++) d[0][j] = j;
    for (size_t i = 1; i <= a.size(); i++) {
        for (size_t j = 1; j <= b.size(); j++) {
            const size_t replace = d[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1);
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
            if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

// Returns the edits that a typo has at most: more turn a short word into another one.
static size_t most_edits(size_t n_letters) {
    constexpr size_t kLongest = 64; // longer words are no typos, and the table stays small
    return n_letters < 3 || n_letters > kLongest ? 0 : n_letters < 5 ? 1 : 2;
}

std::string did_you_mean(const std::string &word, const std::vector<std::string> &names) {
    const size_t n_dashes = std::min(word.find_first_not_of("-/"), word.size());
    const size_t n_letters = word.size() - n_dashes;
    const std::string *best = nullptr;
    size_t best_distance = most_edits(n_letters) + 1;
    if (best_distance == 1) return "";
    for (const std::string &name : names) {
        const size_t edits = name.starts_with(word) ? 1 : distance(word, name);
        if (edits >= best_distance) continue;
        best_distance = edits;
        best = &name;
    }
    return best ? ", did you mean \"" + *best + "\"?" : "";
}

} // namespace ggufx::cli
