// Encoders of the families of KV types; the table in types.cpp names them.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/types.hpp"

namespace ggufx::kv {

using EncodeFn = void(const Scratch &scratch, uint32_t count, uint32_t n, Side side);

EncodeFn encode_q8_0, encode_q5_1, encode_q5_0, encode_q4_1, encode_q4_0, encode_iq4_nl;
EncodeFn encode_tq3, encode_tq3_fitted;
EncodeFn encode_gx4, encode_gx3, encode_gx2;

// TQ3_0 as published: 14 bytes of 32 values. Rotation and its inverse of one block.
constexpr uint32_t kTq3BlockBytes = 14;
void rotate_tq3(float *x);
void unrotate_tq3(float *x);
void pack_tq3_block(uint8_t *block, const float *rotated);
void pack_tq3_block_fitted(uint8_t *block, const float *rotated);
void unpack_tq3_block(uint8_t *codes, uint16_t *scale, const uint8_t *block);

} // namespace ggufx::kv
