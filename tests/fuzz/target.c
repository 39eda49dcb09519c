/*
 * Implementation of target.h.
 * SPDX-License-Identifier: MIT
 */
#include "target.h"
#include "../unit/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t take(bytes *in, uint32_t below) {
    uint32_t value = 0;
    for (uint32_t range = below - 1; range; range >>= 8) {
        value = value << 8 | (in->n ? *in->data : 0);
        if (in->n) in->data++, in->n--;
    }
    return below ? value % below : value;
}

void must_be(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

ggufx_model *target_model(ggufx_runtime **rt, ggufx_file **file) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_runtime *own_rt = NULL;
    ggufx_file *own_file = NULL;
    ggufx_model *model = NULL;
    size_t size = 0;
    unsigned char *data = tiny_model(&size, NULL);
    options.threads = 1;
    must_be(ggufx_runtime_create(&own_rt, &options, NULL) == GGUFX_OK &&
                ggufx_open_memory(&own_file, own_rt, data, size, free, data, NULL, NULL) ==
                    GGUFX_OK &&
                ggufx_model_create(&model, own_rt, own_file, NULL, NULL) == GGUFX_OK,
            "the tiny model");
    if (file)
        *file = own_file;
    else
        ggufx_file_destroy(own_file); /* the model keeps the file */
    if (rt)
        *rt = own_rt;
    else
        ggufx_runtime_destroy(own_rt);
    return model;
}

uint64_t checksum(const uint8_t *data, size_t n) {
    uint64_t crc = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42u : 0);
    }
    return ~crc;
}

ggufx_status read_saved(void *user, void *data, size_t n) {
    saved_bytes *saved = user;
    if (n > saved->n - saved->at) return GGUFX_E_TRUNCATED;
    if (n) memcpy(data, saved->data + saved->at, n);
    saved->at += n;
    return GGUFX_OK;
}
