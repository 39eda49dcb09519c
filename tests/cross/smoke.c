/*
 * A run of the shared library whose printed bits are the same on every system. Opens a model,
 * multiplies, dequantizes, quantizes it into a file, saves and loads a KV cache.
 * usage: smoke MODEL FOLDER
 * SPDX-License-Identifier: MIT
 */
#include "../unit/kv_calls.h"

#include <ggufx/ggufx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ggufx_error error;

static void check(ggufx_status status, const char *what) {
    if (status == GGUFX_OK) return;
    printf("%s: %s: %s\n", what, ggufx_status_name(status), error.message);
    exit(1);
}

static uint64_t hash(const void *data, size_t n) {
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void multiply(const ggufx_runtime *rt, const ggufx_file *file) {
    for (size_t i = 0; i < 12; i++) {
        const ggufx_tensor *tensor = ggufx_file_tensor(file, i);
        ggufx_tensor_facts t = {.struct_size = sizeof t};
        check(ggufx_tensor_info(&t, tensor, &error), "tensor");
        if (t.n_rows < 2) continue;
        float *x = malloc(t.ne[0] * sizeof *x), *y = malloc(t.n_rows * sizeof *y);
        for (size_t k = 0; k < t.ne[0]; k++) x[k] = (float)((int)(k * 37 % 101) - 50) / 64.0f;
        check(ggufx_matvec(y, t.n_rows, rt, tensor, x, t.ne[0], NULL, &error), "matvec");
        printf("%.*s %016" PRIx64 "\n", (int)t.name.size, t.name.data,
               hash(y, t.n_rows * sizeof *y));
        free(x), free(y);
    }
}

static void tell(const ggufx_runtime *rt, const ggufx_file *file) {
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_model_facts m = {.struct_size = sizeof m};
    check(ggufx_model_create(&model, rt, file, NULL, &error), "model");
    check(ggufx_model_info(&m, model, &error), "model info");
    check(ggufx_session_create(&session, model, NULL, &error), "session");
    float *logits = malloc(m.n_vocab * sizeof *logits);
    ggufx_decode_item item = {
        .struct_size = sizeof item, .flags = GGUFX_DECODE_LOGITS, .n_tokens = 1};
    const ggufx_decode_options options = {
        .struct_size = sizeof options, .logits = logits, .n_logits = m.n_vocab};
    for (int32_t step = 0, id = 1; step < 24; step++) {
        item.tokens = &id;
        check(ggufx_session_decode(session, &item, 1, &options, &error), "decode");
        for (uint32_t i = 1, best = 0; i < m.n_vocab; i++)
            if (logits[i] > logits[best]) id = (int32_t)(best = i);
        printf("%d %016" PRIx64 "\n", (int)id, hash(logits, m.n_vocab * sizeof *logits));
    }
    free(logits);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
}

static void shrink(const ggufx_runtime *rt, const ggufx_file *file, const char *path) {
    uint32_t type = 0;
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    ggufx_quantizer *job = NULL;
    ggufx_file *small = NULL;
    options.flags = GGUFX_QUANTIZER_ALLOW_REQUANTIZE;
    check(ggufx_file_type_find(&type, "Q4_K_M", &error), "type");
    check(ggufx_quantizer_create(&job, rt, file, type, &options, &error), "job");
    for (int again = 0; again < 2; again++) /* the second run replaces the first one's file */
        check(ggufx_quantizer_run(job, path, NULL, &error), "run");
    ggufx_quantizer_destroy(job);
    check(ggufx_open(&small, rt, path, NULL, &error), "open what was written");
    multiply(rt, small);
    ggufx_file_destroy(small);
}

static void remember(const ggufx_runtime *rt, const char *path) {
    ggufx_kv_options options = {.struct_size = sizeof options};
    ggufx_kv *kv = NULL;
    float k[2][64], out[2][64], back[2][64];
    options.n_layers = 1, options.n_q_heads = options.n_kv_heads = 2, options.head_dim_k = 64;
    options.type_k = options.type_v = GGUFX_TYPE_Q8_0;
    options.n_sink_tokens = 4;
    check(ggufx_kv_create(&kv, rt, &options, &error), "cache");
    for (int token = 0; token < 100; token++) {
        for (int i = 0; i < 128; i++) k[i / 64][i % 64] = (float)((i * 7 + token * 13) % 29 - 14);
        check(kv_append_rows(kv, 0, 0, 1, NULL, k[0], 128, k[0], 128, &error), "append");
    }
    check(kv_attend_rows(out[0], 128, NULL, 0, kv, 0, 0, k[0], 128, 1, NULL, NULL, &error),
          "attend");
    check(ggufx_kv_save_file(kv, 0, path, &error), "save");
    check(ggufx_kv_clear(kv, &error), "clear");
    check(ggufx_kv_load_file(kv, 0, path, &error), "load");
    check(kv_attend_rows(back[0], 128, NULL, 0, kv, 0, 0, k[0], 128, 1, NULL, NULL, &error),
          "again");
    printf("kv %016" PRIx64 " %d\n", hash(out, sizeof out), memcmp(out, back, sizeof out));
    ggufx_kv_destroy(kv);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    char path[600];
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    printf("%s\n", ggufx_version());
    check(ggufx_runtime_create(&rt, NULL, &error), "runtime");
    check(ggufx_open(&file, rt, argv[1], NULL, &error), "open");
    multiply(rt, file);
    tell(rt, file);
    snprintf(path, sizeof path, "%s/\xc3\xbc\xe4\xb8\xad\xf0\x9f\x98\x80.gguf", argv[2]);
    shrink(rt, file, path);
    snprintf(path, sizeof path, "%s/\xc3\xbc.kv", argv[2]);
    remember(rt, path);
    snprintf(path, sizeof path, "%s/none/a", argv[2]);
    ggufx_file *none = NULL;
    printf("%s\n", ggufx_status_name(ggufx_open(&none, rt, path, NULL, &error)));
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
