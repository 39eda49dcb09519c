// What the library knows of every code point, for unicode_tables.py: category, lower case, parts of
// the decomposition, white space, script.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/unicode.hpp"

#include <stdio.h>

using namespace ggufx::model;

int main() {
    printf("%s\n", unicode_version());
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint32_t parts[kMaxParts];
        const size_t n = decompose(parts, code);
        printf("%x %d %d %d %x", static_cast<unsigned>(code), static_cast<int>(category_of(code)),
               is_white_space(code), han_script().hold(code),
               static_cast<unsigned>(lower_case(code)));
        for (size_t i = 0; i < n; i++) printf(" %x", static_cast<unsigned>(parts[i]));
        printf("\n");
    }
    return 0;
}
