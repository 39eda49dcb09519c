// SPDX-License-Identifier: MIT
#include "device/codebooks.hpp"

#include "formats/format.hpp"
#include "formats/grids/grids.hpp"

#include <string.h>

namespace ggufx::device {

namespace {

struct Codebook {
    uint32_t types[2];
    const void *data;
    size_t n_bytes;
};
constexpr Codebook kBooks[] = {
    {{fmt::id::IQ2_XXS, fmt::id::IQ2_XXS}, &fmt::kGridIq2Xxs, sizeof fmt::kGridIq2Xxs},
    {{fmt::id::IQ2_XS, fmt::id::IQ2_XS}, &fmt::kGridIq2Xs, sizeof fmt::kGridIq2Xs},
    {{fmt::id::IQ2_S, fmt::id::IQ2_S}, &fmt::kGridIq2S, sizeof fmt::kGridIq2S},
    {{fmt::id::IQ3_XXS, fmt::id::IQ3_XXS}, &fmt::kGridIq3Xxs, sizeof fmt::kGridIq3Xxs},
    {{fmt::id::IQ3_S, fmt::id::IQ3_S}, &fmt::kGridIq3S, sizeof fmt::kGridIq3S},
    {{fmt::id::IQ1_S, fmt::id::IQ1_M}, &fmt::kGridIq1, sizeof fmt::kGridIq1},
};

} // namespace

uint64_t codebooks_bytes() {
    uint64_t n = 0;
    for (const Codebook &book : kBooks) n += book.n_bytes;
    return n;
}

void copy_codebooks(uint8_t *out) {
    for (const Codebook &book : kBooks) {
        memcpy(out, book.data, book.n_bytes);
        out += book.n_bytes;
    }
}

uint64_t codebook_at(uint32_t type) {
    uint64_t at = 0;
    for (const Codebook &book : kBooks) {
        if (book.types[0] == type || book.types[1] == type) return at;
        at += book.n_bytes;
    }
    return kNoCodebook;
}

} // namespace ggufx::device
