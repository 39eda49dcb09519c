/*
 * Memory of a process that runs a model: the file's pages, cache and workspaces equal
 * ggufx_estimate, and no weight is copied. Loading reads metadata only.
 * SPDX-License-Identifier: MIT
 */
#include "decode_ids.h"
#include "temporary.h"

#include <ggufx/ggufx.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kEmbd = 512, kHeads = 8, kKvHeads = 2, kHeadDim = 64, kFf = 2048, kVocab = 1024 };
/* 70 MB of Q4_0. The same code runs on one layer first, which excludes one-time memory. */
enum { kLayers = 32, kContext = 32, kBatch = 8, kTokens = 32 };

static char large_path[TEMPORARY_PATH], small_path[TEMPORARY_PATH];

#define MUST(call) must((call), &error, #call)
static void must(ggufx_status status, const ggufx_error *error, const char *call) {
    if (status != GGUFX_OK) fail_msg("%s: %s", call, error->message);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Any codes, small scales: no two blocks are equal, so all pages must be read. */
static ggufx_status q4_0_bytes(void *user, uint64_t offset, void *dst, size_t n) {
    (void)user;
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = offset + i, within = at % 18;
        const uint32_t mixed = (uint32_t)(at * 2654435761u);
        ((uint8_t *)dst)[i] = within == 0   ? (uint8_t)(mixed >> 24)
                              : within == 1 ? 0x18
                                            : (uint8_t)(mixed >> 16);
    }
    return GGUFX_OK;
}

static ggufx_status f32_ones(void *user, uint64_t offset, void *dst, size_t n) {
    static const uint8_t one[4] = {0, 0, 0x80, 0x3f}; /* little-endian, as in files */
    (void)user;
    for (size_t i = 0; i < n; i++) ((uint8_t *)dst)[i] = one[(offset + i) % 4];
    return GGUFX_OK;
}

static void add(ggufx_writer *writer, const char *name, uint64_t columns, uint64_t rows) {
    const uint64_t ne[2] = {columns, rows};
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream,
                                        .read = rows == 1 ? f32_ones : q4_0_bytes};
    ggufx_error error;
    MUST(ggufx_writer_add_stream(writer, name, strlen(name),
                                 rows == 1 ? GGUFX_TYPE_F32 : GGUFX_TYPE_Q4_0, rows == 1 ? 1 : 2,
                                 ne, &stream, &error));
}

static void add_keys(ggufx_writer *writer, uint32_t n_layers) {
    const struct {
        const char *key;
        uint32_t value;
    } keys[] = {
        {"llama.block_count", n_layers},         {"llama.context_length", kContext},
        {"llama.embedding_length", kEmbd},       {"llama.feed_forward_length", kFf},
        {"llama.attention.head_count", kHeads},  {"llama.attention.head_count_kv", kKvHeads},
        {"llama.rope.dimension_count", kHeadDim}};
    static const char architecture[] = "general.architecture",
                      epsilon[] = "llama.attention.layer_norm_rms_epsilon";
    ggufx_error error;
    MUST(ggufx_writer_set_string(writer, architecture, strlen(architecture), "llama", 5, &error));
    MUST(ggufx_writer_set_f64(writer, epsilon, strlen(epsilon), GGUFX_VALUE_F32, 1e-5, &error));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        MUST(ggufx_writer_set_u64(writer, keys[i].key, strlen(keys[i].key), GGUFX_VALUE_U32,
                                  keys[i].value, &error));
}

static void add_layer(ggufx_writer *writer, uint32_t layer) {
    static const struct {
        const char *name;
        uint64_t columns, rows;
    } parts[] = {{"attn_norm", kEmbd, 1},
                 {"attn_q", kEmbd, kHeads * kHeadDim},
                 {"attn_k", kEmbd, kKvHeads * kHeadDim},
                 {"attn_v", kEmbd, kKvHeads * kHeadDim},
                 {"attn_output", kHeads * kHeadDim, kEmbd},
                 {"ffn_norm", kEmbd, 1},
                 {"ffn_gate", kEmbd, kFf},
                 {"ffn_up", kEmbd, kFf},
                 {"ffn_down", kFf, kEmbd}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%u.%s.weight", (unsigned)layer, parts[i].name);
        add(writer, name, parts[i].columns, parts[i].rows);
    }
}

static void write_model(const char *path, uint32_t n_layers) {
    ggufx_error error;
    ggufx_runtime *rt = NULL;
    ggufx_writer *writer = NULL;
    MUST(ggufx_runtime_create(&rt, NULL, &error));
    MUST(ggufx_writer_create(&writer, rt, NULL, &error));
    add_keys(writer, n_layers);
    add(writer, "token_embd.weight", kEmbd, kVocab);
    add(writer, "output_norm.weight", kEmbd, 1);
    for (uint32_t i = 0; i < n_layers; i++) add_layer(writer, i);
    MUST(ggufx_writer_write(writer, path, NULL, &error));
    ggufx_writer_destroy(writer);
    ggufx_runtime_destroy(rt);
}

/* Done by another process, so that this process never holds the memory of writing. */
static int setup(void **state) {
    int status = 1;
    (void)state;
    if (temporary_make() != 0) return -1;
    temporary_path(large_path, "large.gguf");
    temporary_path(small_path, "small.gguf");
    const pid_t child = fork();
    if (child == 0) {
        write_model(large_path, kLayers);
        write_model(small_path, 1);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    remove(large_path);
    remove(small_path);
    return temporary_remove();
}

/* ---- process memory -------------------------------------------------------------------------- */

typedef struct footprint {
    long file_kib, own_kib; /* resident pages: files' and the process's own */
} footprint;

/* smaps_rollup walks the page tables; VmRSS of /proc/self/status may be off by MiBs. */
static footprint measure(void) {
    char line[256];
    long rss_kib = -1, own_kib = -1;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    if (!f) {
        puts("skipped: this system has no /proc/self/smaps_rollup");
        exit(77);
    }
    while (fgets(line, sizeof line, f)) {
        sscanf(line, "Rss: %ld", &rss_kib);
        sscanf(line, "Anonymous: %ld", &own_kib);
    }
    fclose(f);
    assert_true(rss_kib > 0 && own_kib > 0);
    return (footprint){rss_kib - own_kib, own_kib};
}

typedef struct growth {
    footprint loaded, run; /* both since the start */
    ggufx_estimate_facts facts;
} growth;

static footprint since(footprint start) {
    const footprint now = measure();
    return (footprint){now.file_kib - start.file_kib, now.own_kib - start.own_kib};
}

static growth run_model(const char *path) {
    growth g = {.facts.struct_size = sizeof g.facts};
    ggufx_error error;
    ggufx_runtime_options runtime = {.struct_size = sizeof runtime, .threads = 2};
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_estimate_options estimate = {.struct_size = sizeof estimate};
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    int32_t tokens[kTokens];
    static float logits[kVocab];
    memset(logits, 0, sizeof logits); /* resident before anything is measured */
    for (int i = 0; i < kTokens; i++) tokens[i] = 41 * i % kVocab;
    options.n_batch = estimate.n_batch = kBatch;
    const footprint start = measure();
    MUST(ggufx_runtime_create(&rt, &runtime, &error));
    const footprint idle = since(start); /* the workspaces of products */
    MUST(ggufx_open(&file, rt, path, NULL, &error));
    MUST(ggufx_model_create(&model, rt, file, NULL, &error));
    g.loaded = since(start);
    g.loaded.own_kib -= idle.own_kib;
    MUST(ggufx_estimate(&g.facts, rt, file, &estimate, &error));
    MUST(ggufx_session_create(&session, model, &options, &error));
    MUST(decode_ids(session, tokens, kTokens - 2, logits, kVocab, &error));
    for (int i = kTokens - 2; i < kTokens; i++)
        MUST(decode_ids(session, tokens + i, 1, logits, kVocab, &error));
    g.run = since(start);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return g;
}

static void test_memory_of_a_running_model_is_file_cache_and_workspace(void **state) {
    (void)state;
    run_model(small_path);
    const growth g = run_model(large_path);
    const long file_kib = (long)(g.facts.file_bytes / 1024),
               total_kib = (long)(g.facts.total_bytes / 1024), slack_kib = total_kib * 3 / 100;
    printf(
        "file %ld, with cache and workspaces %ld KiB; loaded: %ld of files, %ld own; run: %ld of "
        "files, %ld own\n",
        file_kib, total_kib, g.loaded.file_kib, g.loaded.own_kib, g.run.file_kib, g.run.own_kib);
    assert_true(file_kib > 65 * 1024);
    /* Loading read the directory and the norms; the kernel maps 64 KiB around each touched byte, 4
     * MiB in all. */
    assert_true(g.loaded.file_kib < file_kib / 8 && g.loaded.own_kib < 1024);
    /* Every weight was read from the mapping (the kernel may map a little less at once). */
    assert_true(g.run.file_kib > file_kib * 97 / 100);
    assert_true(g.run.file_kib <= file_kib + slack_kib);
    assert_true(g.run.own_kib <= total_kib - file_kib + slack_kib);
    assert_true(g.run.file_kib + g.run.own_kib <= total_kib + slack_kib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_of_a_running_model_is_file_cache_and_workspace),
    };
    setenv("MIMALLOC_RESET_DELAY", "0", 1); /* mimalloc 2.0: releases freed pages at once */
    setenv("MIMALLOC_PURGE_DELAY", "0", 1); /* mimalloc 2.1 */
    return cmocka_run_group_tests(tests, setup, teardown);
}
