// Rules by which byte-level BPE vocabularies cut a text before they merge, as data: what
// tokenizer.ggml.pre names. A rule set is a list of patterns that run one after another, a pattern
// a list of rows that are tried in order, a row what regular expressions of this family are made
// of. Source of the patterns: the vocabularies' own tokenizer.json; where none is published, what
// the field's tool does. The engine: pre_tokenizer.hpp. SPDX-License-Identifier: MIT
#pragma once

#include "base/unicode.hpp"
#include "base/utf8.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model::pre {

// Classes of characters; each has one. A byte that begins no character is as U+FFFD, a symbol.
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
    threes,      // as many characters of body as leave threes up to the end of their run
    boundary,    // nothing, where threes of body follow up to the end of their run
};

enum class Ahead : uint8_t {
    any,
    space_or_end, // (?!\S)
    end,          // $
    word_edge,    // \b behind the run, of Shape::threes
};

constexpr uint16_t kMany = UINT16_MAX;

struct Row {
    Shape shape = Shape::run;
    bool needs_prefix = false, any_case = false; // any_case: of contractions
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
    escaped_characters, // characters of a text whose spaces are U+2581
    characters,         // characters; white space lies between the pieces
};

struct Rules {
    const char *name; // that of the vocabularies it is known by
    Pattern patterns[kMaxPatterns];
    CodeRanges lists[kMaxLists];
    // As tokenizer.json has them, where that is known, each with a NUL behind: 'S' and a pattern,
    // 'D' single digits, 'G' the pattern of GPT-2 and bytes, 'B' bytes alone.
    std::string_view steps;
    bool lists_han = false; // the first list is the script Han
    Symbols symbols = Symbols::bytes;
    bool whole_lines = false; // a run of newlines that is a token is taken whole
    bool always_bos = false;  // whatever tokenizer.ggml.add_bos_token says
};

// Flags of a name.
enum : uint8_t {
    kAddBos = 1,       // unless a key says otherwise
    kIgnoreMerges = 2, // a piece that is a token is taken whole
    kAddSep = 4,       // pairs of texts have a separator
    kKeepSpaces = 8,   // the field's text has no spaces taken out
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
Names names(); // in the order of the table
const Name *find(std::string_view name);

} // namespace ggufx::model::pre
