// Wide queries of the KV cache in the layouts of instruction sets: planes hi and lo of Q = 128 * hi
// + lo, or pairs of int16.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <vector>

namespace testdata {

// codes: [fours of coordinates][hi, lo][rows][4], converted in place.
inline void planes_to_pairs(int8_t *codes, size_t n_fours, size_t rows) {
    std::vector<int8_t> planes(codes, codes + n_fours * 2 * rows * 4);
    for (size_t i = 0; i < n_fours; i++)
        for (size_t row = 0; row < rows; row++)
            for (size_t c = 0; c < 4; c++) {
                const int8_t *high = planes.data() + (i * 2 * rows + row) * 4;
                const auto q = static_cast<int16_t>(128 * high[c] + high[rows * 4 + c]);
                memcpy(codes + ((i * 2 + c % 2) * rows + row) * 4 + c / 2 * 2, &q, sizeof q);
            }
}

} // namespace testdata
