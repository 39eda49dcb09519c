// Prints the library's properties of every code point, for unicode_tables.py: category, white
// space, script, simple lower case; upper, lower and title case; properties of case and numbers;
// parts of the decomposition.
// SPDX-License-Identifier: MIT
#include "base/unicode.hpp"

#include <initializer_list>
#include <stdio.h>

using namespace ggufx;

static void print_codes(const uint32_t *codes, size_t n) {
    for (size_t i = 0; i < n; i++) printf("%s%x", i ? "," : " ", static_cast<unsigned>(codes[i]));
    if (n == 0) printf(" -");
}

int main() {
    printf("%s\n", unicode_version());
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint32_t parts[kMaxParts], other[3];
        printf("%x %d %d %d %x", static_cast<unsigned>(code), static_cast<int>(category_of(code)),
               is_white_space(code), han_script().hold(code),
               static_cast<unsigned>(lower_case(code)));
        print_codes(parts, decompose(parts, code));
        for (const Case to : {Case::upper, Case::lower, Case::title})
            print_codes(other, change_case(other, code, to));
        printf(" %d%d%d%d%d%d%d%d%d\n", is_upper(code), is_lower(code), is_cased(code),
               is_case_ignorable(code), is_alpha(code), is_printable(code), is_decimal(code),
               is_digit(code), is_numeric(code));
    }
    return 0;
}
