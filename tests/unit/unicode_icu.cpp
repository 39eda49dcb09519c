// Compares the library's properties of every code point with ICU. Exits with 77 if ICU has another
// version of Unicode.
// SPDX-License-Identifier: MIT
#include "base/unicode.hpp"

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>

#include <stdio.h>
#include <string.h>

using namespace ggufx;

namespace {

int g_compared = 0, g_faults = 0;

void same(uint32_t code, const char *what, bool equal) {
    g_compared++;
    if (!equal && g_faults++ < 20)
        fprintf(stderr, "U+%04X: %s differs\n", static_cast<unsigned>(code), what);
}

// ICU's numbers of categories, in the order of Category.
constexpr int kCategories[] = {
    U_UNASSIGNED,
    U_CONTROL_CHAR,
    U_FORMAT_CHAR,
    U_PRIVATE_USE_CHAR,
    U_SURROGATE,
    U_UPPERCASE_LETTER,
    U_TITLECASE_LETTER,
    U_LOWERCASE_LETTER,
    U_MODIFIER_LETTER,
    U_OTHER_LETTER,
    U_NON_SPACING_MARK,
    U_COMBINING_SPACING_MARK,
    U_ENCLOSING_MARK,
    U_DECIMAL_DIGIT_NUMBER,
    U_LETTER_NUMBER,
    U_OTHER_NUMBER,
    U_CONNECTOR_PUNCTUATION,
    U_DASH_PUNCTUATION,
    U_START_PUNCTUATION,
    U_END_PUNCTUATION,
    U_INITIAL_PUNCTUATION,
    U_FINAL_PUNCTUATION,
    U_OTHER_PUNCTUATION,
    U_MATH_SYMBOL,
    U_CURRENCY_SYMBOL,
    U_MODIFIER_SYMBOL,
    U_OTHER_SYMBOL,
    U_SPACE_SEPARATOR,
    U_LINE_SEPARATOR,
    U_PARAGRAPH_SEPARATOR,
};
static_assert(sizeof kCategories / sizeof kCategories[0] == static_cast<size_t>(Category::Zp) + 1);

void compare_properties(uint32_t code) {
    const auto c = static_cast<UChar32>(code);
    const auto has = [&](UProperty property) { return u_hasBinaryProperty(c, property) != 0; };
    same(code, "category", kCategories[static_cast<size_t>(category_of(code))] == u_charType(c));
    same(code, "White_Space", is_white_space(code) == has(UCHAR_WHITE_SPACE));
    same(code, "Uppercase", is_upper(code) == has(UCHAR_UPPERCASE));
    same(code, "Lowercase", is_lower(code) == has(UCHAR_LOWERCASE));
    same(code, "Cased", is_cased(code) == has(UCHAR_CASED));
    same(code, "Case_Ignorable", is_case_ignorable(code) == has(UCHAR_CASE_IGNORABLE));
    const int type = u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE);
    same(code, "Decimal", is_decimal(code) == (type == U_NT_DECIMAL));
    same(code, "Digit", is_digit(code) == (type == U_NT_DECIMAL || type == U_NT_DIGIT));
    same(code, "Numeric", is_numeric(code) == (type != U_NT_NONE));
    UErrorCode error = U_ZERO_ERROR;
    same(code, "script Han",
         han_script().hold(code) == (uscript_getScript(c, &error) == USCRIPT_HAN));
    same(code, "simple lower case", lower_case(code) == static_cast<uint32_t>(u_tolower(c)));
}

constexpr int32_t kMost = 32;

struct Codes {
    UChar32 codes[kMost];
    int32_t n;
};

Codes from_utf16(const UChar *text, int32_t n) {
    Codes out;
    UErrorCode error = U_ZERO_ERROR;
    u_strToUTF32(out.codes, kMost, &out.n, text, n, &error);
    return out;
}

bool equal(const Codes &theirs, const uint32_t *ours, size_t n) {
    if (static_cast<size_t>(theirs.n) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (static_cast<uint32_t>(theirs.codes[i]) != ours[i]) return false;
    return true;
}

void compare_cases(uint32_t code, UCaseMap *titles) {
    UChar text[2], out[8];
    int32_t n = 0;
    U16_APPEND_UNSAFE(text, n, code);
    uint32_t ours[3];
    UErrorCode error = U_ZERO_ERROR;
    int32_t m = u_strToUpper(out, 8, text, n, "", &error);
    same(code, "upper case", equal(from_utf16(out, m), ours, change_case(ours, code, Case::upper)));
    m = u_strToLower(out, 8, text, n, "", &error);
    same(code, "lower case", equal(from_utf16(out, m), ours, change_case(ours, code, Case::lower)));
    if (u_hasBinaryProperty(static_cast<UChar32>(code), UCHAR_CHANGES_WHEN_TITLECASED))
        m = ucasemap_toTitle(titles, out, 8, text, n, &error);
    else
        m = n, memcpy(out, text, sizeof text);
    same(code, "title case", equal(from_utf16(out, m), ours, change_case(ours, code, Case::title)));
    same(code, "no error of ICU", U_SUCCESS(error));
}

// Compares the complete decomposition without the marks that stripping accents drops.
void compare_decomposition(uint32_t code, const UNormalizer2 *nfd) {
    UChar out[kMost];
    UErrorCode error = U_ZERO_ERROR;
    int32_t n = unorm2_getDecomposition(nfd, static_cast<UChar32>(code), out, kMost, &error);
    if (n < 0) { // no decomposition
        n = 0;
        U16_APPEND_UNSAFE(out, n, code);
    }
    Codes want = from_utf16(out, n);
    int32_t kept = 0;
    for (int32_t i = 0; i < want.n; i++)
        if (u_charType(want.codes[i]) != U_NON_SPACING_MARK) want.codes[kept++] = want.codes[i];
    want.n = kept;
    uint32_t parts[kMaxParts];
    same(code, "decomposition", equal(want, parts, decompose(parts, code)));
}

} // namespace

int main() {
    UVersionInfo version;
    u_getUnicodeVersion(version);
    char theirs[16];
    snprintf(theirs, sizeof theirs, "%d.%d.%d", version[0], version[1], version[2]);
    if (strcmp(theirs, unicode_version()) != 0) {
        printf("skipped: ICU has Unicode %s, the library %s\n", theirs, unicode_version());
        return 77;
    }
    UErrorCode error = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&error);
    UCaseMap *titles = ucasemap_open("", U_TITLECASE_NO_BREAK_ADJUSTMENT, &error);
    if (U_FAILURE(error)) return fprintf(stderr, "ICU: %s\n", u_errorName(error)), 1;
    for (uint32_t code = 0; code < 0x110000; code++) {
        compare_properties(code);
        if (code >= 0xd800 && code < 0xe000) continue; // surrogates: not in texts
        compare_cases(code, titles);
        compare_decomposition(code, nfd);
    }
    ucasemap_close(titles);
    printf("Unicode %s: %d compared, %d faults\n", theirs, g_compared, g_faults);
    return g_faults || g_compared < 16 * 0x10f000;
}
