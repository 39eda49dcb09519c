// Pre-tokenizer rules of byte-level BPE vocabularies, as data, named by tokenizer.ggml.pre. A rule
// set is a list of patterns that run one after another. A pattern is a list of rows that are tried
// in order; a row is a branch of a regular expression.
// Source: the vocabularies' own tokenizer.json; if none is published, llama.cpp.
// The engine: pre_tokenizer.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/unicode.hpp"
#include "base/utf8.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model::pre {

// Character classes; each character has one. An invalid byte counts as U+FFFD, a symbol.
enum CharClass : uint8_t {
    // clang-format off
    kOther, kUpper, kTitle, kLower, kModifier, kLetter, kMark, kDecimal, kNumber, kPunct, kConnector,
    kSymbol, kSpace, kBlank, kTab, kCr, kLf, kDigit, kAsciiUpper, kAsciiLower, kApostrophe, kSlash,
    kUnderscore, kAsciiPunct, kAsciiSymbol, kBacktick, kTilde, kBadClass, kContinuation, kClasses
    // clang-format on
};
constexpr uint32_t bit(CharClass c) {
    return 1u << c;
}

// A set of characters: classes, with the lists `plus` and without the lists `minus` (bits).
struct CharSet {
    uint32_t classes = 0;
    uint8_t plus = 0, minus = 0;
};

enum class Shape : uint8_t {
    run,         // prefix? head* body{min,max} tail{0,tail_max}
    linked,      // prefix? then letters and marks, with single spaces between words
    contraction, // 's 't 're 've 'm 'll 'd
    threes,      // body characters before groups of three up to the end of their run
    boundary,    // empty match before groups of three of body up to the end of their run
};

enum class Ahead : uint8_t {
    any,
    space_or_end, // (?!\S)
    end,          // $
    word_edge,    // \b after the run, for Shape::threes
};

constexpr uint16_t kMany = UINT16_MAX;

struct Row {
    Shape shape = Shape::run;
    bool needs_prefix = false, any_case = false; // any_case: for contractions
    bool contracts = false;                      // a contraction may follow
    Ahead ahead = Ahead::any;
    uint16_t min = 1, max = kMany, tail_max = kMany;
    CharSet prefix = {}, head = {}, body = {}, tail = {};
    const char *before = nullptr, *after = nullptr; // texts around the body
};

struct Pattern {
    const Row *rows;
    size_t n;
};

constexpr size_t kMaxPatterns = 6, kMaxLists = 4, kMaxRows = 16;

// Initial symbols of the merges.
enum class Symbols : uint8_t {
    bytes,
    escaped_characters, // characters of a text with U+2581 for spaces
    characters,         // characters; pieces are separated by white space
};

struct Rules {
    const char *name; // name of a typical vocabulary
    Pattern patterns[kMaxPatterns];
    CodeRanges lists[kMaxLists];
    // Steps in tokenizer.json if known, each NUL-terminated: 'S' and a pattern, 'D' single digits,
    // 'G' the pattern of GPT-2 and bytes, 'B' bytes only.
    std::string_view steps;
    bool lists_han = false; // the first list is the script Han
    Symbols symbols = Symbols::bytes;
    bool whole_lines = false; // a run of newlines that is a token is not split
    bool always_bos = false;  // ignores tokenizer.ggml.add_bos_token
};

// Flags of a name.
enum : uint8_t {
    kAddBos = 1,       // unless a key overrides it
    kIgnoreMerges = 2, // a piece that is a token is not merged
    kAddSep = 4,       // pairs of texts have a separator
    kKeepSpaces = 8,   // llama.cpp does not clean up spaces
};

struct Name {
    const char *name;
    const Rules *rules;
    uint8_t flags;
};

struct Names {
    const Name *names;
    size_t n;
};
Names names(); // in table order
const Name *find(std::string_view name);

} // namespace ggufx::model::pre
