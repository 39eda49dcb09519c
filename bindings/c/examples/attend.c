/* A KV cache of 4 bits a value: append 300 tokens, attend over them with one query.
 * SPDX-License-Identifier: MIT */
#include "example.h"

enum { TOKENS = 300, KV_HEADS = 2, Q_HEADS = 4, DIM = 64 };

static float number(int i) {
    return (float)((i * 7919 + 13) % 2003) / 1001 - 1;
}

int main(void) {
    static float k[TOKENS * KV_HEADS * DIM], v[TOKENS * KV_HEADS * DIM];
    static float q[Q_HEADS * DIM], out[Q_HEADS * DIM];
    ggufx_kv_options options = {.struct_size = sizeof options};
    ggufx_kv_tokens tokens = {.struct_size = sizeof tokens, .n_tokens = TOKENS};
    ggufx_kv_queries queries = {.struct_size = sizeof queries, .n_queries = 1};
    ggufx_runtime *rt = NULL;
    ggufx_kv *kv = NULL;
    for (int i = 0; i < TOKENS * KV_HEADS * DIM; ++i) k[i] = v[i] = number(i);
    for (int i = 0; i < Q_HEADS * DIM; ++i) q[i] = number(i);
    options.n_layers = 1;
    options.n_kv_heads = KV_HEADS;
    options.n_q_heads = Q_HEADS;
    options.head_dim_k = DIM;
    options.type_k = options.type_v = GGUFX_TYPE_GX4;
    must(ggufx_runtime_create(&rt, NULL, &error));
    must(ggufx_kv_create(&kv, rt, &options, &error));
    tokens.k = k;
    tokens.v = v;
    tokens.n_k = tokens.n_v = TOKENS * KV_HEADS * DIM;
    must(ggufx_kv_append(kv, &tokens, &error));
    queries.q = q;
    queries.n_q = Q_HEADS * DIM;
    must(ggufx_kv_attend(out, Q_HEADS * DIM, NULL, 0, kv, &queries, NULL, &error));
    printf("%d tokens, out[0] = %.6f, out[255] = %.6f\n", TOKENS, out[0], out[255]);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    return 0;
}
