// The small codebooks: signs of the 7-bit IQ types, IQ4 and fp4 code values. Signs follow the rule
// "sign byte = index | parity(index) << 7"; golden vectors cover all of them.
// SPDX-License-Identifier: MIT
#include "formats/grids/grids.hpp"

namespace ggufx {
namespace fmt {

namespace {

constexpr SignTable expand_signs() {
    SignTable table{};
    for (unsigned i = 0; i < 128; i++) {
        unsigned parity = 0;
        for (unsigned j = 0; j < 7; j++) parity ^= (i >> j) & 1u;
        table.byte[i] = static_cast<uint8_t>(i | parity << 7);
    }
    return table;
}

} // namespace

constinit const SignTable kSigns7 = expand_signs();

constinit const int8_t kCodesIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

constinit const int8_t kCodesFp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

} // namespace fmt
} // namespace ggufx
