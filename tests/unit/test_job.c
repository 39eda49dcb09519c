/*
 * ggufx_job_*: plans, refusals, runs from memory and big-endian files, cancelling, memory.
 * The reference's bytes: tests/cli/quantize.py; killed runs and shards: quantize_interrupted.py
 * there.
 * SPDX-License-Identifier: MIT
 */
#include "job_polls.h"
#include "ok.h"
#include "weight_calls.h"
#include "writer_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kColumns = 256, kRows = 12 };

static float values[kColumns * kRows];

/* blk.0.attn_v.weight and a norm, f32, in either byte order; both hold `values`. */
static void build(gb *b, int big_endian) {
    const uint64_t shape[2] = {kColumns, kRows};
    uint32_t state = 5;
    for (size_t i = 0; i < kColumns * kRows; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)((int32_t)state >> 8) * 0x1p-23f;
    }
    gb_begin(b, 3, big_endian);
    gb_key_string(b, "general.architecture", "llama");
    gb_key_u32(b, "general.file_type", 0);
    gb_key_string(b, "last", "key");
    gb_tensor(b, "output_norm.weight", GGUFX_TYPE_F32, 1, shape, kColumns * 4);
    gb_tensor(b, "blk.0.attn_v.weight", GGUFX_TYPE_F32, 2, shape, sizeof values);
    gb_data(b);
    for (size_t i = 0; i < kColumns; i++) gb_f32(b, values[i]);
    gb_pad(b);
    for (size_t i = 0; i < kColumns * kRows; i++) gb_f32(b, values[i]);
    gb_pad(b);
}

static ggufx_quantizer *plan(const gb *b, uint32_t file_type, uint32_t flags) {
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    ggufx_error e;
    ggufx_file *file = open_bytes(b, 0);
    options.flags = flags;
    if (ggufx_quantizer_create(&job, rt, file, file_type, &options, &e) != GGUFX_OK)
        fail_msg("%s", e.message);
    ggufx_file_destroy(file);
    return job;
}

static ggufx_quantizer_tensor_facts tensor_at(const ggufx_quantizer *job, size_t i) {
    ggufx_quantizer_tensor_facts t = {.struct_size = sizeof t};
    OK(ggufx_quantizer_tensor_at(&t, job, i, ok_error()));
    return t;
}

/* Checks the blocks of the second tensor of the written file. */
static void assert_blocks(const ggufx_imatrix_entry *weights) {
    uint8_t want[kRows * 144];
    ggufx_file *file = NULL;
    size_t at = 0;
    ggufx_quantize_args options = {.struct_size = sizeof options};
    if (weights) options.imatrix = weights->values;
    OK(quantize_rows(want, sizeof want, rt, GGUFX_TYPE_Q4_K, values, kRows, kColumns, &options,
                     ok_error()));
    OK(ggufx_open(&file, rt, path, NULL, ok_error()));
    OK(ggufx_file_tensor_find(&at, file, S("blk.0.attn_v.weight"), ok_error()));
    assert_memory_equal(ggufx_tensor_data(ggufx_file_tensor(file, at)), want, sizeof want);
    OK(ggufx_file_meta_find(&at, file, S("general.file_type"), ok_error()));
    assert_int_equal(at, ggufx_file_meta_count(file) - 1); /* after the input's keys */
    ggufx_file_destroy(file);
}

static void test_files_of_either_byte_order_give_the_same_blocks(void **state) {
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        gb b;
        build(&b, big_endian);
        ggufx_quantizer *job = plan(&b, 14, GGUFX_QUANTIZER_PURE);
        ggufx_quantizer_facts facts = {.struct_size = sizeof facts};
        struct stat info;
        OK(ggufx_quantizer_info(&facts, job, ok_error()));
        OK(ggufx_quantizer_run(job, path, NULL, ok_error()));
        assert_blocks(NULL);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_size, facts.file_bytes);
        assert_int_equal(n_files(), 1);
        ggufx_quantizer_destroy(job);
        gb_free(&b);
    }
    clean();
}

static void test_norms_stay_and_types_can_be_chosen(void **state) {
    (void)state;
    gb b;
    ggufx_error e;
    build(&b, 0);
    ggufx_quantizer *job = plan(&b, 15, 0); /* Q4_K_M: the only layer's attn_v has more bits */
    assert_int_equal(tensor_at(job, 0).reason, GGUFX_QUANTIZER_REASON_KEPT);
    assert_int_equal(tensor_at(job, 1).to, GGUFX_TYPE_Q6_K);
    const uint32_t good[2] = {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0}, bad[2] = {0, 99},
                   none[2] = {GGUFX_QUANTIZER_DEFAULT_TYPE, GGUFX_TYPE_Q8_K};
    OK(ggufx_quantizer_override_types(job, good, 2, ok_error()));
    assert_int_equal(tensor_at(job, 0).to, GGUFX_TYPE_F32);
    assert_int_equal(tensor_at(job, 1).to, GGUFX_TYPE_Q8_0);
    expect(ggufx_quantizer_override_types(job, bad, 2, &e), GGUFX_E_TYPE, &e, "99");
    expect(ggufx_quantizer_override_types(job, none, 2, &e), GGUFX_E_UNSUPPORTED, &e, "q8_K");
    expect(ggufx_quantizer_override_types(job, good, 1, &e), GGUFX_E_ARGUMENT, &e, "1 types for 2");
    assert_int_equal(tensor_at(job, 1).to, GGUFX_TYPE_Q8_0); /* unchanged */
    ggufx_quantizer_destroy(job);
    gb_free(&b);
}

/* Q4_K_M counts attn_v: the third and the fourth of four layers get more bits. */
static void test_an_override_changes_no_other_tensor(void **state) {
    (void)state;
    enum { kLayers = 4 };
    const uint64_t shape[2] = {kColumns, 1}, rows[2] = {kColumns, 2};
    const uint32_t mix[kLayers] = {GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q6_K,
                                   GGUFX_TYPE_Q6_K};
    gb b;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "llama");
    gb_tensor(&b, "output_norm.weight", GGUFX_TYPE_F32, 1, shape, kColumns * 4);
    for (int i = 0; i < kLayers; i++) {
        char name[32];
        snprintf(name, sizeof name, "blk.%d.attn_v.weight", i);
        gb_tensor(&b, name, GGUFX_TYPE_F32, 2, rows, 2 * kColumns * 4);
    }
    gb_data(&b);
    for (size_t i = 0; i < (1 + 2 * kLayers) * kColumns; i++) gb_f32(&b, 0.5f);
    ggufx_quantizer *job = plan(&b, 15, 0);
    for (size_t chosen = 1; chosen <= kLayers; chosen++) {
        const uint32_t of[2] = {GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q8_0}; /* the main type, another */
        for (size_t t = 0; t < 2; t++) {
            uint32_t types[1 + kLayers];
            for (size_t i = 0; i <= kLayers; i++) types[i] = GGUFX_QUANTIZER_DEFAULT_TYPE;
            types[chosen] = of[t];
            OK(ggufx_quantizer_override_types(job, types, 1 + kLayers, ok_error()));
            for (size_t i = 1; i <= kLayers; i++)
                assert_int_equal(tensor_at(job, i).to, i == chosen ? of[t] : mix[i - 1]);
            assert_int_equal(tensor_at(job, chosen).reason, GGUFX_QUANTIZER_REASON_OVERRIDE);
        }
    }
    ggufx_quantizer_destroy(job);
    gb_free(&b);
}

static void test_measuring_finds_more_error_in_fewer_bits(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16,  GGUFX_TYPE_Q8_0,
                                     GGUFX_TYPE_Q6_K, GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q2_K};
    gb b;
    double last = -1, some = 0;
    ggufx_error e;
    build(&b, 0);
    ggufx_quantizer *job = plan(&b, 15, 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        double rmse = -1;
        OK(ggufx_quantizer_tensor_error(&rmse, job, 1, types[i], 0, NULL, ok_error()));
        assert_true(rmse > last);
        last = rmse;
    }
    OK(ggufx_quantizer_tensor_error(&some, job, 1, GGUFX_TYPE_Q2_K, 3 * kColumns, NULL,
                                    ok_error()));
    assert_true(some > 0.5 * last && some < 2 * last && some != last);
    expect(ggufx_quantizer_tensor_error(&some, job, 2, 0, 0, NULL, &e), GGUFX_E_ARGUMENT, &e,
           "tensor 2 does not exist");
    expect(ggufx_quantizer_tensor_error(&some, job, 1, 99, 0, NULL, &e), GGUFX_E_UNSUPPORTED, &e,
           "99");
    expect(ggufx_quantizer_tensor_error(&some, job, 1, GGUFX_TYPE_IQ2_S, 0, NULL, &e),
           GGUFX_E_ARGUMENT, &e, "type iq2_s needs an imatrix");
    ggufx_quantizer_destroy(job);
    gb_free(&b);
}

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    gb b;
    ggufx_error e;
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_facts facts = {.struct_size = sizeof facts};
    ggufx_quantizer_run_options run = {.struct_size = sizeof run};
    uint32_t type = 0;
    build(&b, 0);
    ggufx_file *file = open_bytes(&b, 0), *meta = open_bytes(&b, GGUFX_OPEN_METADATA_ONLY);
    ggufx_file_type_facts recipe = {.struct_size = sizeof recipe};
    expect(ggufx_quantizer_create(&job, rt, file, 39, NULL, &e), GGUFX_E_ARGUMENT, &e, "39");
    expect(ggufx_quantizer_create(&job, rt, NULL, 15, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    expect(ggufx_quantizer_create(NULL, rt, file, 15, NULL, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_file_type_find(&type, "Q4_K_L", &e), GGUFX_E_NOT_FOUND, &e, "Q4_K_");
    expect(ggufx_file_type_at(&recipe, 1000, &e), GGUFX_E_ARGUMENT, &e, "1000");
    OK(ggufx_file_type_find(&type, "q5_k", ok_error()));
    assert_int_equal(type, 17);
    OK(ggufx_quantizer_create(&job, rt, meta, 15, NULL, ok_error()));
    OK(ggufx_quantizer_info(&facts, job, ok_error()));
    expect(ggufx_quantizer_run(job, path, NULL, &e), GGUFX_E_UNSUPPORTED, &e, "metadata");
    ggufx_quantizer_destroy(job);
    OK(ggufx_quantizer_create(&job, rt, file, 15, NULL, ok_error()));
    run.shard = 3;
    run.n_shards = 2;
    expect(ggufx_quantizer_run(job, path, &run, &e), GGUFX_E_ARGUMENT, &e, "shard");
    expect(ggufx_quantizer_run(job, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_quantizer_run(job, "/nonexistent/a", NULL, &e), GGUFX_E_IO, &e,
           "/nonexistent/a.part");
    expect(ggufx_quantizer_run(job, folder, NULL, &e), GGUFX_E_IO, &e, "not a regular file");
    expect(ggufx_quantizer_finish(job, path, NULL, &e), GGUFX_E_NOT_FOUND, &e, "a.gguf.part");
    expect(ggufx_quantizer_info(NULL, job, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_quantizer_tensor_at(NULL, job, 0, &e), GGUFX_E_ARGUMENT, &e, "out");
    ggufx_quantizer_destroy(job);
    ggufx_quantizer_destroy(NULL);
    ggufx_file_destroy(file);
    ggufx_file_destroy(meta);
    gb_free(&b);
    assert_int_equal(n_files(), 0);
}

/* Invalid values of a model are found in any row. */
static void test_bad_values_name_tensor_row_and_column(void **state) {
    (void)state;
    gb b;
    ggufx_error e;
    build(&b, 0);
    const size_t first = b.n - sizeof values;
    gb_set_u32(&b, first + 4 * (7 * kColumns + 200), 0x7f800000);
    ggufx_quantizer *job = plan(&b, 14, GGUFX_QUANTIZER_PURE);
    expect(ggufx_quantizer_run(job, path, NULL, &e), GGUFX_E_VALUE, &e,
           "tensor \"blk.0.attn_v.weight\": row 7, column 200");
    assert_int_equal(e.index, 7);
    assert_int_equal(n_files(), 0);
    ggufx_quantizer_destroy(job);
    gb_free(&b);
}

/* Cancelled at each poll: no file is left; with KEEP the leftover can be resumed to the same
 * bytes. */
static void test_every_poll_cancels_and_resume_goes_on(void **state) {
    (void)state;
    gb b, want = {0};
    ggufx_error e;
    build(&b, 0);
    ggufx_quantizer *job = plan(&b, 14, GGUFX_QUANTIZER_PURE);
    OK(ggufx_quantizer_run(job, path, NULL, ok_error()));
    FILE *f = fopen(path, "rb");
    unsigned char bytes[20000];
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    gb_bytes(&want, bytes, n);
    clean();
    polls p = {0};
    ggufx_progress progress = {.user = &p, .report = count_polls};
    ggufx_quantizer_run_options run = {.struct_size = sizeof run};
    run.progress = &progress;
    ggufx_status s = GGUFX_E_CANCELLED;
    for (long k = 1; s != GGUFX_OK; k++) {
        p = (polls){.stop_at = k};
        run.flags = k % 2 ? GGUFX_QUANTIZER_KEEP : 0;
        s = ggufx_quantizer_run(job, path, &run, &e);
        if (s == GGUFX_OK) break;
        assert_int_equal(s, GGUFX_E_CANCELLED);
        assert_true(k == 1 || n_files() == (k % 2 ? 2 : 0));
        if (k % 2) {
            p = (polls){0};
            run.flags = GGUFX_QUANTIZER_RESUME;
            OK(ggufx_quantizer_run(job, path, &run, ok_error()));
            assert_file(path, want.data, want.n);
            clean();
        }
        assert_true(k < 1000);
    }
    assert_true(p.n > 4);
    ggufx_quantizer_destroy(job);
    gb_free(&b);
    gb_free(&want);
    clean();
}

/* Counts blocks of memory as large as a codebook's neighbour lists. */
typedef struct large {
    ggufx_allocator allocator;
    int n;
} large;

static void *count_large(void *user, size_t size, size_t align) {
    void *p = NULL;
    if (size >= 150000) ((large *)user)->n++;
    return posix_memalign(&p, align < sizeof p ? sizeof p : align, size) == 0 ? p : NULL;
}

static void free_large(void *user, void *p, size_t size, size_t align) {
    (void)user, (void)size, (void)align;
    free(p);
}

/* Returns the number of large blocks that a job allocates for n_matrices. */
static int n_large(uint32_t file_type, int n_matrices) {
    const uint64_t shape[2] = {kColumns, kRows};
    large counted = {{.struct_size = sizeof counted.allocator, .user = &counted}, 0};
    counted.allocator.alloc = count_large;
    counted.allocator.free = free_large;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_runtime *own = NULL;
    ggufx_file *file = NULL;
    ggufx_quantizer *job = NULL;
    gb b;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "llama");
    for (int i = 0; i < n_matrices; i++) {
        char name[40];
        snprintf(name, sizeof name, "blk.%d.ffn_up.weight", i);
        gb_tensor(&b, name, GGUFX_TYPE_F32, 2, shape, sizeof values);
    }
    gb_data(&b);
    for (int i = 0; i < n_matrices; i++) gb_tensor_data(&b, values, sizeof values);
    options.allocator = &counted.allocator;
    options.threads = 1;
    OK(ggufx_runtime_create(&own, &options, ok_error()));
    OK(ggufx_open_memory(&file, own, b.data, b.n, NULL, NULL, NULL, ok_error()));
    ggufx_quantizer_options how = {.struct_size = sizeof how};
    how.flags = GGUFX_QUANTIZER_PURE;
    OK(ggufx_quantizer_create(&job, own, file, file_type, &how, ok_error()));
    counted.n = 0;
    OK(ggufx_quantizer_run(job, path, NULL, ok_error()));
    const int n = counted.n;
    ggufx_quantizer_destroy(job);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(own);
    gb_free(&b);
    clean();
    return n;
}

/* Building them takes longer than quantizing a small model. */
static void test_lists_of_a_codebook_are_made_once(void **state) {
    enum { IQ3_S = 26, Q8_0 = 7 };
    gb b;
    (void)state;
    build(&b, 0); /* the values */
    gb_free(&b);
    assert_true(n_large(IQ3_S, 1) > n_large(Q8_0, 1));
    assert_int_equal(n_large(IQ3_S, 5) - n_large(IQ3_S, 1), n_large(Q8_0, 5) - n_large(Q8_0, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_of_either_byte_order_give_the_same_blocks),
        cmocka_unit_test(test_norms_stay_and_types_can_be_chosen),
        cmocka_unit_test(test_an_override_changes_no_other_tensor),
        cmocka_unit_test(test_measuring_finds_more_error_in_fewer_bits),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_bad_values_name_tensor_row_and_column),
        cmocka_unit_test(test_every_poll_cancels_and_resume_goes_on),
        cmocka_unit_test(test_lists_of_a_codebook_are_made_once),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
