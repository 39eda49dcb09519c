/*
 * The types of a KV stream.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_TYPES_H
#define KV_TYPES_H

#include <ggufx/types.h>

static const uint32_t kTypes[] = {
    GGUFX_TYPE_F32,      GGUFX_TYPE_F16,
    GGUFX_TYPE_BF16,     GGUFX_TYPE_Q8_0,
    GGUFX_TYPE_Q5_1,     GGUFX_TYPE_Q5_0,
    GGUFX_TYPE_Q4_1,     GGUFX_TYPE_Q4_0,
    GGUFX_TYPE_IQ4_NL,   GGUFX_TYPE_ROT_Q5_0,
    GGUFX_TYPE_ROT_Q4_0, GGUFX_TYPE_ROT_IQ4_NL,
    GGUFX_TYPE_TQ3_0,    GGUFX_TYPE_TQ3_0_RESIDUAL,
    GGUFX_TYPE_GX2,      GGUFX_TYPE_GX3,
    GGUFX_TYPE_GX4,
};
enum { kTypeCount = sizeof kTypes / sizeof *kTypes };

#endif
