// Hashes of the scalar reference's results for each case, the same on every host (rows.cpp). They
// change only together with a CHANGELOG line `bits:`.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace rowsteps {

constexpr uint64_t kBits[] = {
    0xde46b046bb8217c5, // rms
    0x0822ca82e373c58c, // rms, no weights
    0x550fac9cc304c8ef, // rms in place
    0xde46b046bb8217c5, // rms over its weights
    0xd02bdac6c4e99770, // layer_norm
    0xddc5e07e947cfce2, // layer_norm, no weights
    0x3a7702ed3d6de892, // layer_norm, no bias
    0x594b6165e86f7cbf, // layer_norm in place, alone
    0x98e48137e6c4d1bf, // l2
    0x01b661017e41c741, // l2 in place
    0x38f1c65e7ac0d1cd, // rotate_pairs
    0x4541d17633fdda74, // rotate_halves
    0xfe031c74627b9da2, // add
    0x3b8dc6bd2b6923f7, // add to itself
    0xc810ba3c742cfebd, // add_scaled
    0x9ab64fea32a84015, // add_scaled to itself
    0x6db199c6bf83eecc, // multiply
    0x88196d4deac8d442, // multiply by itself
    0xc70ef8d819ca3dff, // scale
    0x980c377939340b6e, // clamp
    0xf888712f6aa4ee3e, // cap
    0x39b38a7dace91bcd, // silu
    0x8e3a50d930da1d78, // silu alone
    0xed9719bf58f26141, // silu times itself
    0xed939dee084d267e, // gelu
    0x34b8154d25257dd3, // gelu alone
    0xe5a891f4c5a52541, // gelu times itself
    0xad2ad2aa86fc3737, // relu2
    0x250c6e03aa417c80, // relu2 alone
    0x538a1d43bafdcb62, // relu2 times itself
    0x1990c741fc785222, // oai
    0xf25762d1d7ceeab2, // oai times itself
    0x561e64cc9a947ef4, // sigmoid
    0x8e3a50d930da1d78, // sigmoid of itself
    0xf1c625ae6c38cfe6, // softmax
    0x1348063a6ea531b3, // exp_from
    0x4cfb85f1664d0019, // exp_from in place
    0x5bf94d802af81f12, // maxima
    0xba825f50be9b8075, // conv
    0xcb1dcbbc291387e1, // conv, no bias
    0xc60f2ef8f96089a6, // conv over a column
    0x61a20dd57776d4ab, // delta
    0x61a20dd57776d4ab, // delta over v
    0x6da57f9a63a90b8d, // delta over tokens
    0x381492025f637ca3, // scan
    0x381492025f637ca3, // scan over u
    0x69b28826d289a029, // scan from another state
    0xfe6501df96a82f30, // scan_each
    0xfe6501df96a82f30, // scan_each over u
    0xfe6501df96a82f30, // scan_each over dt
    0xfd912202a463a47b, // scan_each from another state
};

} // namespace rowsteps
