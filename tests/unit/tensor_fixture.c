/* SPDX-License-Identifier: MIT */
#include "tensor_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <string.h>

ggufx_tensor_facts facts_of(const ggufx_tensor *t) {
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_tensor_info(&facts, t, ok_error()));
    return facts;
}

void count_one(void *user) {
    ++*(int *)user;
}

void put_le(float *to, float value) {
    unsigned char bytes[4];
    uint32_t bits;
    int i;
    memcpy(&bits, &value, 4);
    for (i = 0; i < 4; i++) bytes[i] = (unsigned char)(bits >> 8 * i);
    memcpy(to, bytes, 4);
}

void fill(float *x, size_t stride) {
    size_t i, k;
    for (i = 0; i < 6; i++)
        for (k = 0; k < 4; k++)
            put_le(x + i * stride + k, (float)(100 * (i / 3) + 10 * (i % 3) + k));
}

ggufx_tensor *wrap(const float *x, uint64_t stride, int *destroyed) {
    const uint64_t ne[3] = {4, 3, 2};
    ggufx_tensor *t = NULL;
    ggufx_error error;
    if (tensor_of(&t, rt, GGUFX_TYPE_F32, 3, ne, stride * 4, x, (5 * stride + 4) * 4, "x",
                  count_one, destroyed, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return t;
}
