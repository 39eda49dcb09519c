/*
 * Saves a snapshot of two tokens: save_kv PATH NUMBER; the number determines the bytes. save_kv
 * PATH alone loads the snapshot.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/kv_calls.h"

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static float x[2 * 64];
    ggufx_error e;
    ggufx_runtime *rt = NULL;
    ggufx_kv *kv = NULL;
    ggufx_kv_options shape = {.struct_size = sizeof shape};
    ggufx_status s;
    if (argc < 2) return 2;
    for (int i = 0; argc > 2 && i < 128; i++) x[i] = (float)(i % 7) + (float)atoi(argv[2]);
    shape.n_layers = shape.n_kv_heads = shape.n_q_heads = 1;
    shape.head_dim_k = 64;
    shape.flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
    shape.type_k = shape.type_v = GGUFX_TYPE_F32;
    s = ggufx_runtime_create(&rt, NULL, &e);
    if (s == GGUFX_OK) s = ggufx_kv_create(&kv, rt, &shape, &e);
    if (s == GGUFX_OK && argc > 2) s = kv_append_rows(kv, 0, 0, 2, NULL, x, 128, x, 128, &e);
    if (s == GGUFX_OK && argc > 2) s = ggufx_kv_save_file(kv, 0, argv[1], &e);
    if (s == GGUFX_OK && argc == 2) s = ggufx_kv_load_file(kv, 0, argv[1], &e);
    if (s != GGUFX_OK) fprintf(stderr, "%s\n", e.message);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    return s != GGUFX_OK;
}
