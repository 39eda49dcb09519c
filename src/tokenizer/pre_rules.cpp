// Pre-tokenizer rules as rows; comments give the equivalent regular expressions.
// SPDX-License-Identifier: MIT
#include "tokenizer/pre_rules.hpp"

#include <iterator>

namespace ggufx::model::pre {

namespace {

constexpr uint32_t kL = bit(kUpper) | bit(kTitle) | bit(kLower) | bit(kModifier) | bit(kLetter) |
                        bit(kAsciiUpper) | bit(kAsciiLower);
constexpr uint32_t kM = bit(kMark);
constexpr uint32_t kNd = bit(kDecimal) | bit(kDigit);
constexpr uint32_t kN = kNd | bit(kNumber);
constexpr uint32_t kAsciiP = bit(kApostrophe) | bit(kSlash) | bit(kUnderscore) | bit(kAsciiPunct);
constexpr uint32_t kAsciiS = bit(kAsciiSymbol) | bit(kBacktick) | bit(kTilde);
constexpr uint32_t kP = bit(kPunct) | bit(kConnector) | kAsciiP;
constexpr uint32_t kS = bit(kSymbol) | bit(kBadClass) | kAsciiS;
constexpr uint32_t kLines = bit(kCr) | bit(kLf);
constexpr uint32_t kWhite = bit(kSpace) | bit(kBlank) | bit(kTab) | kLines;
constexpr uint32_t kAll = bit(kContinuation) - 1;
constexpr uint32_t kAsciiL = bit(kAsciiUpper) | bit(kAsciiLower);
constexpr uint32_t kNoLower = bit(kTitle) | bit(kModifier) | bit(kLetter) | kM;
constexpr uint32_t kUppers = bit(kUpper) | bit(kAsciiUpper) | kNoLower;
constexpr uint32_t kLowers = bit(kLower) | bit(kAsciiLower) | bit(kModifier) | bit(kLetter) | kM;

// One row per branch of the expressions.
constexpr Row run(uint32_t classes, uint16_t min = 1, uint16_t max = kMany,
                  Ahead ahead = Ahead::any) {
    Row row;
    row.body.classes = classes;
    row.min = min;
    row.max = max;
    row.ahead = ahead;
    return row;
}
constexpr Row run_after(CharSet prefix, CharSet body) {
    Row row;
    row.prefix = prefix;
    row.body = body;
    return row;
}
constexpr Row run_after(uint32_t prefix, uint32_t body) {
    return run_after(CharSet{prefix}, CharSet{body});
}
constexpr Row with_tail(Row row, uint32_t tail, uint16_t tail_max = kMany) {
    row.tail.classes = tail;
    row.tail_max = tail_max;
    return row;
}
constexpr Row listed(uint8_t lists, uint32_t prefix = 0) {
    Row row;
    row.prefix.classes = prefix;
    row.body.plus = lists;
    return row;
}
// head* followed by at least one of body: up to the last body character within or after the run of
// head.
constexpr Row last_of(uint32_t head, uint32_t body) {
    Row row;
    row.head.classes = head;
    row.body.classes = body;
    return row;
}
constexpr Row contraction(bool any_case) {
    Row row;
    row.shape = Shape::contraction;
    row.any_case = any_case;
    row.body.classes = bit(kApostrophe);
    return row;
}
constexpr Row digits(Shape shape, uint32_t classes, Ahead ahead = Ahead::any) {
    Row row;
    row.shape = shape;
    row.body.classes = classes;
    row.ahead = ahead;
    return row;
}
constexpr Row text(const char *before, uint32_t classes, uint8_t lists, uint16_t min, uint16_t max,
                   const char *after) {
    Row row;
    row.before = before;
    row.body.classes = classes;
    row.body.plus = lists;
    row.min = min;
    row.max = max;
    row.after = after;
    return row;
}
// [^\r
// \p{L}\p{N}]?[upper]*[lower]+, or the other way round; without the lists in `minus`.
constexpr Row cased(bool upper_first, bool contracts, uint8_t minus = 0) {
    Row row;
    row.prefix.classes = kAll & ~kLines & ~kL & ~kN;
    row.contracts = contracts;
    row.any_case = contracts;
    if (upper_first) { // [upper]+[lower]*
        row.body = {kUppers, 0, minus};
        row.tail = {kLowers, 0, minus};
    } else {
        row.head = {kUppers, 0, minus};
        row.body = {kLowers, 0, minus};
    }
    return row;
}

#define WORDS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define CASED(after)                                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER "]+" after "|[^\\r\\n\\p{L}\\p{N}]?[" UPPER        \
    "]+[" LOWER "]*" after "|"
#define CONTRACTED "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define OTHERS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES

constexpr uint32_t kBlankOnly = bit(kBlank);
constexpr uint32_t kOthers = kAll & ~kWhite & ~kL & ~kN;  // [^\s\p{L}\p{N}]
constexpr uint32_t kLeading = kAll & ~kLines & ~kL & ~kN; // [^\r\n\p{L}\p{N}]

constexpr Row kToLineEnd = last_of(kWhite, kLines);                 // \s*[\r\n]+
constexpr Row kButOne = run(kWhite, 1, kMany, Ahead::space_or_end); // \s+(?!\S)
constexpr Row kSpaces = run(kWhite);                                // \s+
constexpr Row kWord = run_after(kLeading, kL);                      // [^\r\n\p{L}\p{N}]?\p{L}+
constexpr Row kMarksToLines = with_tail(run_after(kBlankOnly, kOthers), kLines);
constexpr Row kMarksToSlash = with_tail(run_after(kBlankOnly, kOthers), kLines | bit(kSlash));

constexpr Row kGpt2Rows[] = {contraction(false),
                             run_after(kBlankOnly, kL),
                             run_after(kBlankOnly, kN),
                             run_after(kBlankOnly, kOthers),
                             kButOne,
                             kSpaces};
constexpr Row kLlama3Rows[] = {contraction(true), kWord,   run(kN, 1, 3), kMarksToLines,
                               kToLineEnd,        kButOne, kSpaces};
constexpr Row kQwen2Rows[] = {contraction(true), kWord,   run(kN, 1, 1), kMarksToLines,
                              kToLineEnd,        kButOne, kSpaces};
// bailingmoe has [\r
// ] instead of [\r
// ]+ after \s*, which ends at the same position.
constexpr Row kQwen35Rows[] = {contraction(true),
                               run_after(kLeading, kL | kM),
                               run(kN, 1, 1),
                               with_tail(run_after(kBlankOnly, kOthers & ~kM), kLines),
                               kToLineEnd,
                               kButOne,
                               kSpaces};
constexpr Row kSeedCoderRows[] = {
    contraction(true), kWord,   run(kN, 1, 1), run_after(kBlankOnly, kOthers),
    kToLineEnd,        kButOne, kSpaces};
constexpr Row kUfakzekaRows[] = {kWord, run(kN, 1, 1), kMarksToLines, kToLineEnd, kButOne, kSpaces};
constexpr Row kMinicpm5Rows[] = {contraction(true), kWord,   run(kN), kMarksToLines,
                                 kToLineEnd,        kButOne, kSpaces};
constexpr Row kGpt4oRows[] = {cased(false, true), cased(true, true), run(kN, 1, 3), kMarksToSlash,
                              kToLineEnd,         kButOne,           kSpaces};
constexpr Row kTekkenRows[] = {cased(false, false),
                               cased(true, false),
                               run(kN, 1, 1),
                               kMarksToSlash,
                               kToLineEnd,
                               kButOne,
                               kSpaces};
constexpr Row kYoutuRows[] = {cased(false, true), cased(true, true), run(kN, 1, 1), kMarksToSlash,
                              kToLineEnd,         kButOne,           kSpaces};
constexpr Row kKimiRows[] = {listed(1),
                             cased(false, true, 1),
                             cased(true, true, 1),
                             run(kN, 1, 3),
                             kMarksToLines,
                             kToLineEnd,
                             kButOne,
                             kSpaces};
constexpr Row kExaoneMoeRows[] = {
    contraction(true),
    [] {
        Row row = run_after(kLeading, kL);
        row.shape = Shape::linked;
        row.tail.classes = kL | kM;
        return row;
    }(),
    run(kN, 1, 1),
    with_tail(run_after(kBlankOnly, kOthers), kLines | bit(kSlash), 1),
    kToLineEnd,
    kButOne,
    kSpaces};
constexpr Row kJais2Rows[] = {contraction(true),
                              kWord,
                              run(kN, 1, 3),
                              kMarksToLines,
                              kToLineEnd,
                              run(kWhite, 512, 512, Ahead::space_or_end),
                              run(kWhite, 256, 256, Ahead::space_or_end),
                              run(kWhite, 128, 128, Ahead::space_or_end),
                              run(kWhite, 64, 64, Ahead::space_or_end),
                              run(kWhite, 32, 32, Ahead::space_or_end),
                              run(kWhite, 16, 16, Ahead::space_or_end),
                              run(kWhite, 8, 8, Ahead::space_or_end),
                              run(kWhite, 4, 4, Ahead::space_or_end),
                              run(kWhite, 1, 2, Ahead::space_or_end),
                              run(kWhite, 1, 1)};
constexpr Row kDeepseekV3Rows[] = {[] { // [!-/:-@\[-`{-~][A-Za-z]+
                                       Row row = run_after(kAsciiP | kAsciiS, kAsciiL);
                                       row.needs_prefix = true;
                                       return row;
                                   }(),
                                   run_after(kAll & ~kLines & ~kL & ~kP & ~kS, kL | kM),
                                   with_tail(run_after(kBlankOnly, kP | kS), kLines),
                                   kToLineEnd,
                                   kButOne,
                                   kSpaces};
constexpr Row kSpark25Rows[] = {kDeepseekV3Rows[0],
                                kDeepseekV3Rows[1],
                                run_after(kBlankOnly, kP | kS),
                                run(kLines, 1, 1),
                                kButOne,
                                kSpaces};

// The patterns are not published; in llama.cpp, "~" is no symbol.
constexpr uint32_t kAfmoeS = kS & ~bit(kTilde);
constexpr Row kAfmoeRows[] = {kDeepseekV3Rows[0],
                              run_after(kAll & ~kLines & ~kL & ~kP & ~kAfmoeS, kL | kM),
                              with_tail(run_after(kBlankOnly, kP | kAfmoeS), kLines),
                              kToLineEnd,
                              kButOne,
                              kSpaces};

constexpr Row kNumberRow[] = {run(kN, 1, 1)};
constexpr Row kNumbersRow[] = {run(kN)};
constexpr Row kThreeNumbersRow[] = {run(kN, 1, 3)};
constexpr Row kThreeDigitsRow[] = {run(bit(kDigit), 3, 3)};
constexpr Row kLineRow[] = {run(kLines, 1, 1)};
constexpr Row kListRow[] = {listed(1)};
constexpr Row kWhitespaceRows[] = {run(kAll & ~kWhite)}; // \S+
constexpr Row kLinesRows[] = {run(kAll & ~bit(kLf)), run(bit(kLf))};

constexpr Row kDefaultMarks[] = {run(kP | bit(kAsciiSymbol) | bit(kTilde))};
constexpr Row kFalconMarks[] = {run(kP | kAsciiS)};
constexpr Row kCoderWords[] = {run_after(kWhite, kL)};
constexpr Row kCoderMarks[] = {run_after(kWhite, kP)};
constexpr Row kLlmWords[] = {listed(1, kWhite)};
constexpr Row kLlmMarks[] = {listed(2, kWhite)};
constexpr Row kLlmSpaces[] = {run(kWhite, 1, kMany, Ahead::end)};
constexpr Row kLlmRuns[] = {listed(4)};
constexpr Row kYoutuLists[] = {listed(1), listed(2), listed(4), listed(8)};
constexpr Row kAfmoeDigits[] = {digits(Shape::threes, kN)};
constexpr Row kAyaDigits[] = {digits(Shape::threes, kNd, Ahead::word_edge)};
constexpr Row kSuperDigits[] = {digits(Shape::boundary, bit(kDigit))};
constexpr Row kBloomRow[] = {
    run_after(CharSet{kBlankOnly}, CharSet{kAll & ~kWhite, 0, 1})}; // " ?[^(\s|.,!?...)]+"
constexpr Row kSentinelRow[] = {text("<sentinel:", bit(kDigit), 0, 1, kMany, ">")};
constexpr Row kImageRow[] = {text("IMGIMG", 0, 1, 1, 4, "Z")};
constexpr Row kIndentRows[] = {run(bit(kTab) | bit(kLf), 1, 1), run(kBlankOnly, 4, 4),
                               run(kBlankOnly, 2, 2)};
constexpr Row kChameleonMarks[] = {run(kP | kAsciiS, 1, 1)};

constexpr CodeRange kDeepseekCjk[] = {
    {0x3040, 0x30ff},
    {0x4e00, 0x9fa5},
};
constexpr CodeRange kDeepseekRuns[] = {
    // no white space
    {0x800, 0x167f},  {0x1681, 0x1fff}, {0x200b, 0x2027}, {0x202a, 0x202e},
    {0x2030, 0x205e}, {0x2060, 0x2fff}, {0x3001, 0x9fa5}, {0xac00, 0xd7ff},
};
constexpr CodeRange kDeepseekLetters[] = {
    {0x41, 0x5a},       {0x61, 0x7a},       {0xb5, 0xb5},       {0xc0, 0xd6},
    {0xd8, 0xf6},       {0xf8, 0x1ba},      {0x1bc, 0x1bf},     {0x1c4, 0x293},
    {0x295, 0x2af},     {0x370, 0x373},     {0x376, 0x377},     {0x37b, 0x37d},
    {0x37f, 0x37f},     {0x386, 0x386},     {0x388, 0x38a},     {0x38c, 0x38c},
    {0x38e, 0x3a1},     {0x3a3, 0x3f5},     {0x3f7, 0x481},     {0x48a, 0x52f},
    {0x531, 0x556},     {0x10a0, 0x10c5},   {0x13a0, 0x13f5},   {0x13f8, 0x13fd},
    {0x1c90, 0x1cba},   {0x1cbd, 0x1cbf},   {0x1d00, 0x1d2b},   {0x1d6b, 0x1d77},
    {0x1d79, 0x1d9a},   {0x1e00, 0x1f15},   {0x1f18, 0x1f1d},   {0x1f20, 0x1f45},
    {0x1f48, 0x1f4d},   {0x1f50, 0x1f57},   {0x1f59, 0x1f59},   {0x1f5b, 0x1f5b},
    {0x1f5d, 0x1f5d},   {0x1f5f, 0x1f7d},   {0x1f80, 0x1fb4},   {0x1fb6, 0x1fbc},
    {0x1fbe, 0x1fbe},   {0x1fc2, 0x1fc4},   {0x1fc6, 0x1fcc},   {0x1fd0, 0x1fd3},
    {0x1fd6, 0x1fdb},   {0x1fe0, 0x1fec},   {0x1ff2, 0x1ff4},   {0x1ff6, 0x1ffc},
    {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210a, 0x2113},   {0x2115, 0x2115},
    {0x2119, 0x211d},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
    {0x212a, 0x212d},   {0x212f, 0x2134},   {0x2139, 0x2139},   {0x213c, 0x213f},
    {0x2145, 0x2149},   {0x214e, 0x214e},   {0x2183, 0x2184},   {0x2c00, 0x2c7b},
    {0x2c7e, 0x2ce4},   {0x2ceb, 0x2cee},   {0x2cf2, 0x2cf3},   {0xa640, 0xa66d},
    {0xa680, 0xa69b},   {0xa722, 0xa76f},   {0xa771, 0xa787},   {0xa78b, 0xa78e},
    {0xab70, 0xabbf},   {0xfb00, 0xfb06},   {0xfb13, 0xfb17},   {0xff21, 0xff3a},
    {0xff41, 0xff5a},   {0x10400, 0x1044f}, {0x104b0, 0x104d3}, {0x104d8, 0x104fb},
    {0x10c80, 0x10cb2}, {0x10cc0, 0x10cf2}, {0x118a0, 0x118df}, {0x1e900, 0x1e943},
};
constexpr CodeRange kDeepseekPunct[] = {
    {0x21, 0x2f},     {0x3a, 0x7e},     {0x2018, 0x201f},
    {0x3001, 0x3002}, {0xff01, 0xff0f}, {0xff1a, 0xff5e},
};
constexpr CodeRange kAfmoeRuns[] = {
    {0xe40, 0xeff},   {0x1000, 0x109f}, {0x1100, 0x11ff}, {0x1780, 0x17ff}, {0x2f00, 0x2fdf},
    {0x3040, 0x30ff}, {0x3400, 0x4dbf}, {0x4e00, 0xfaff}, {0xff65, 0xff9f},
};
constexpr CodeRange kYoutuHangul[] = {
    {0x3131, 0x318e},
    {0xac00, 0xd7a3},
};
constexpr CodeRange kYoutuPunct[] = {
    {0x2014, 0x2014}, {0x2018, 0x2019}, {0x201c, 0x201d}, {0x2026, 0x2026}, {0x3001, 0x303f},
    {0xfe30, 0xfe4f}, {0xff01, 0xff01}, {0xff0c, 0xff0c}, {0xff1a, 0xff1b},
};
constexpr CodeRange kYoutuBopomofo[] = {
    {0x3105, 0x312f},
};
constexpr CodeRange kYoutuCjk[] = {
    {0x3040, 0x30ff},
    {0x4e00, 0x9fa5},
};
constexpr CodeRange kBloomStops[] = {
    {0x21, 0x21},   {0x28, 0x29},     {0x2c, 0x2c},     {0x2e, 0x2e},
    {0x3f, 0x3f},   {0x7c, 0x7c},     {0x60c, 0x60c},   {0x6d4, 0x6d4},
    {0x964, 0x964}, {0x2026, 0x2026}, {0x3001, 0x3002}, {0xff0c, 0xff0c},
};
constexpr CodeRange kCapitals[] = {{0x41, 0x49}};
// Word characters that are neither letters, marks, numbers nor connectors.
constexpr CodeRange kWordSigns[] = {
    {0x200c, 0x200d}, {0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};

#define STEP(text) text "\0"
template <size_t n> constexpr std::string_view steps(const char (&text)[n]) {
    return {text, n - 1};
}
#define ROWS(rows)                                                                                 \
    { rows, std::size(rows) }
#define LIST(list)                                                                                 \
    { list, std::size(list) }
const Rules kGpt2 = {"gpt-2", {ROWS(kGpt2Rows)}, {}, steps(STEP("G"))};
const Rules kLlama3 = {
    "llama-bpe", {ROWS(kLlama3Rows)}, {}, steps(STEP("S" WORDS "\\p{N}{1,3}|" REST) STEP("B"))};
const Rules kQwen2 = {
    "qwen2", {ROWS(kQwen2Rows)}, {}, steps(STEP("S" WORDS "\\p{N}|" REST) STEP("B"))};
const Rules kQwen35 = {
    "qwen35",
    {ROWS(kQwen35Rows)},
    {},
    steps(STEP("S(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
               " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES) STEP("B"))};
const Rules kBailing = {"bailingmoe",
                        {ROWS(kQwen2Rows)},
                        {},
                        steps(STEP("S'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}"
                                   "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
                                   "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+") STEP("B"))};
const Rules kSeedCoder = {
    "seed-coder",
    {ROWS(kSeedCoderRows)},
    {},
    steps(STEP("S" WORDS "\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES) STEP("B"))};
const Rules kGpt4o = {"gpt-4o",
                      {ROWS(kGpt4oRows)},
                      {},
                      steps(STEP("S" CASED(CONTRACTED) "\\p{N}{1,3}|" OTHERS) STEP("B"))};
const Rules kTekken = {
    "tekken", {ROWS(kTekkenRows)}, {}, steps(STEP("S" CASED("") "\\p{N}|" OTHERS) STEP("B"))};
const Rules kKimiK2 = {"kimi-k2", {ROWS(kKimiRows)}, {}, {}, true};
const Rules kExaoneMoe = {
    "exaone-moe",
    {ROWS(kExaoneMoeRows)},
    {},
    steps(STEP(
        "S(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|"
        "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+") STEP("B"))};
const Rules kJais2 = {"jais-2", {ROWS(kJais2Rows)}, {}, {}};
const Rules kStarcoder = {
    "starcoder", {ROWS(kNumberRow), ROWS(kGpt2Rows)}, {}, steps(STEP("D") STEP("G"))};
const Rules kDefault = {
    "default",
    {ROWS(kDefaultMarks), ROWS(kGpt2Rows), ROWS(kNumbersRow), ROWS(kThreeDigitsRow)},
    {},
    {}};
const Rules kFalcon = {
    "falcon", {ROWS(kFalconMarks), ROWS(kGpt2Rows), ROWS(kThreeDigitsRow)}, {}, {}};
const Rules kDeepseekV3 = {
    "deepseek-v3",
    {ROWS(kThreeNumbersRow), ROWS(kListRow), ROWS(kDeepseekV3Rows)},
    {LIST(kDeepseekCjk)},
    steps(STEP("S\\p{N}{1,3}") STEP("S[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+")
              STEP("S[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
                   "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES)
                  STEP("B"))};
const Rules kDeepseekCoder = {
    "deepseek-coder",
    {ROWS(kLineRow), ROWS(kCoderWords), ROWS(kCoderMarks), ROWS(kListRow), ROWS(kNumberRow)},
    {LIST(kDeepseekRuns)},
    steps(STEP("S[\r\n]") STEP("S\\s?\\p{L}+") STEP("S\\s?\\p{P}+")
              STEP("S[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+") STEP("D") STEP("B"))};
const Rules kDeepseekLlm = {"deepseek-llm",
                            {ROWS(kLineRow), ROWS(kLlmWords), ROWS(kLlmMarks), ROWS(kLlmSpaces),
                             ROWS(kLlmRuns), ROWS(kNumbersRow)},
                            {LIST(kDeepseekLetters), LIST(kDeepseekPunct), LIST(kDeepseekRuns)},
                            {}};
const Rules kTinyAya = {"tiny_aya",
                        {ROWS(kAyaDigits), ROWS(kGpt4oRows)},
                        {LIST(kWordSigns)},
                        steps(STEP("S\\d{1,3}(?=(?:\\d{3})*\\b)")
                                  STEP("S" CASED(CONTRACTED) "\\p{N}{1,3}|" OTHERS) STEP("B"))};
const Rules kYoutu = {
    "youtu",
    {ROWS(kYoutuLists), ROWS(kYoutuRows)},
    {LIST(kYoutuHangul), LIST(kYoutuPunct), LIST(kYoutuBopomofo), LIST(kYoutuCjk)},
    {}};
const Rules kAfmoe = {
    "afmoe", {ROWS(kAfmoeDigits), ROWS(kListRow), ROWS(kAfmoeRows)}, {LIST(kAfmoeRuns)}, {}};
const Rules kSuperbpe = {"superbpe", {ROWS(kNumbersRow), ROWS(kSuperDigits)}, {}, {}};
const Rules kBloom = {"bloom", {ROWS(kBloomRow)}, {LIST(kBloomStops)}, {}};
const Rules kViking = {"viking", {ROWS(kBloomRow), ROWS(kNumberRow)}, {LIST(kBloomStops)}, {}};
const Rules kChameleon = {"chameleon",
                          {ROWS(kSentinelRow),
                           ROWS(kImageRow),
                           ROWS(kIndentRows),
                           ROWS(kNumberRow),
                           ROWS(kChameleonMarks),
                           {kGpt2Rows, std::size(kGpt2Rows) - 1}},
                          {LIST(kCapitals)},
                          {}};
const Rules kUfakzeka = {"ufakzeka",
                         {ROWS(kUfakzekaRows)},
                         {},
                         steps(STEP("S[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" REST) STEP("B"))};
const Rules kMinicpm5 = {"minicpm5",
                         {ROWS(kThreeNumbersRow), ROWS(kMinicpm5Rows)},
                         {},
                         steps(STEP("S\\p{N}{1,3}") STEP("S" WORDS "\\p{N}+|" REST) STEP("B"))};
const Rules kLaguna = {"laguna",
                       {ROWS(kLinesRows), ROWS(kQwen2Rows)},
                       {},
                       steps(STEP("S[^\\n]+|[\\n]+") STEP("S" WORDS "\\p{N}|" REST) STEP("B"))};
const Rules kSpark25 = {
    "spark2_5",
    {ROWS(kThreeNumbersRow), ROWS(kListRow), ROWS(kSpark25Rows), ROWS(kNumberRow)},
    {LIST(kDeepseekCjk)},
    {}};

// BPE over characters: only the splits of these vocabularies are pre-tokenizer rules.
const Rules kGemma4 = {"gemma4", {ROWS(kLinesRows)},          {},   {},
                       false,    Symbols::escaped_characters, true, true};
const Rules kSarvamMoe = {"sarvam-moe", {ROWS(kLinesRows)},         {}, {},
                          false,        Symbols::escaped_characters};
const Rules kWhitespace = {"whitespace", {ROWS(kWhitespaceRows)}, {}, {},
                           false,        Symbols::characters};

constexpr Name kNames[] = {
#define GGUFX_PRE(name, rules, flags) {name, &rules, flags},
#include "tokenizer/pre_names.def"
#undef GGUFX_PRE
};

} // namespace

Names names() {
    return {kNames, std::size(kNames)};
}

const Name *find(std::string_view name) {
    for (const Name &known : kNames)
        if (name == known.name) return &known;
    return nullptr;
}

} // namespace ggufx::model::pre
