/*
 * Jobs on files read through callbacks. After any failing call there is no file under the final
 * name, leftovers of an earlier run stay, and a resume gives the same bytes.
 * SPDX-License-Identifier: MIT
 */
#include "job_polls.h"
#include "ok.h"
#include "weight_calls.h"
#include "writer_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { kColumns = 256, kRows = 60, kLayers = 4, kRoom = 200000, kPart = 12 };

static gb source; /* the model */

/* blk.I.attn_q.weight of kRows x kColumns and a norm, f32, in either byte order. */
static void build(gb *b, int big_endian) {
    const uint64_t shape[2] = {kColumns, kRows};
    char name[40];
    uint32_t state = 9;
    gb_begin(b, 3, big_endian);
    gb_key_string(b, "general.architecture", "llama");
    gb_key_u32(b, "general.file_type", 0);
    gb_tensor(b, "output_norm.weight", GGUFX_TYPE_F32, 1, shape, kColumns * 4);
    for (int i = 0; i < kLayers; i++) {
        snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        gb_tensor(b, name, GGUFX_TYPE_F32, 2, shape, kColumns * kRows * 4);
    }
    gb_data(b);
    for (size_t i = 0; i < kColumns * (1 + kLayers * kRows); i++) {
        state = state * 1664525u + 1013904223u;
        gb_f32(b, (float)((int32_t)state >> 8) * 0x1p-23f);
    }
    gb_pad(b);
}

typedef struct hooks {
    long calls, fail_at; /* number of the call that fails, from 1; 0: none */
    int closed, maps;
} hooks;

static int fails(hooks *h) {
    return ++h->calls == h->fail_at;
}
static ggufx_status hook_size(void *user, uint64_t *out) {
    *out = source.n;
    return fails(user) ? GGUFX_E_IO : GGUFX_OK;
}
/* A failing read has filled half of the buffer with garbage. */
static ggufx_status hook_read(void *user, uint64_t offset, void *dst, size_t n) {
    assert_true(offset <= source.n && n <= source.n - offset);
    memcpy(dst, source.data + offset, n);
    if (!fails(user)) return GGUFX_OK;
    memset(dst, 0x3e, n - n / 2);
    return GGUFX_E_IO;
}
static const void *hook_map(void *user, uint64_t offset, size_t n) {
    assert_true(offset + n <= source.n);
    return fails(user) ? NULL : source.data + offset;
}
static void hook_unmap(void *user, const void *data, size_t n) {
    (void)user, (void)data, (void)n;
}
static void hook_close(void *user) {
    ((hooks *)user)->closed++;
}

static ggufx_status open_through(ggufx_file **file, hooks *h, ggufx_error *e) {
    ggufx_io io = {.struct_size = sizeof io, .user = h};
    io.size = hook_size;
    io.read_at = hook_read;
    io.close = hook_close;
    if (h->maps) io.map = hook_map, io.unmap = hook_unmap;
    return ggufx_open_io(file, rt, &io, NULL, e);
}

/* Quantizes the whole model to Q4_K; stop_at: the poll that cancels it and keeps the data for a
 * resume. */
static ggufx_status run(ggufx_file *file, uint32_t flags, long stop_at) {
    polls p = {.stop_at = stop_at};
    const ggufx_progress progress = {.user = &p, .report = count_polls};
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    ggufx_quantizer_run_options how = {.struct_size = sizeof how};
    ggufx_quantizer *job = NULL;
    options.flags = GGUFX_QUANTIZER_PURE;
    how.flags = flags;
    how.progress = &progress;
    OK(ggufx_quantizer_create(&job, rt, file, 14, &options, ok_error()));
    const ggufx_status status = ggufx_quantizer_run(job, path, &how, NULL);
    ggufx_quantizer_destroy(job);
    return status;
}

typedef struct bytes {
    unsigned char data[kRoom];
    size_t n;
} bytes;

static void read_all(bytes *to, const char *name) {
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    to->n = fread(to->data, 1, kRoom, f);
    assert_true(to->n > 0 && to->n < kRoom);
    fclose(f);
}

/* Restores the leftover of an interrupted run, opens the file again, and fails call k. */
static ggufx_status fail_and_resume(const bytes *want, hooks *h, long k) {
    static bytes before;
    ggufx_file *file = NULL;
    ggufx_error e;
    h->fail_at = 0;
    OK(open_through(&file, h, NULL));
    assert_int_equal(run(file, GGUFX_QUANTIZER_KEEP, kPart), GGUFX_E_CANCELLED);
    ggufx_file_destroy(file);
    read_all(&before, part);

    *h = (hooks){.fail_at = k, .maps = h->maps};
    file = NULL;
    const ggufx_status status = open_through(&file, h, &e);
    struct stat info;
    assert_int_equal(stat(path, &info), -1);
    if (status != GGUFX_OK) {
        assert_null(file);
        assert_int_equal(status, GGUFX_E_IO);
        assert_true(e.message[0] != 0);
        assert_int_equal(h->closed, 1);
        assert_int_equal(n_files(), 2);
        assert_file(part, before.data, before.n);
        h->fail_at = 0;
        OK(open_through(&file, h, NULL));
    }
    OK(run(file, GGUFX_QUANTIZER_RESUME, 0));
    ggufx_file_destroy(file);
    assert_file(path, want->data, want->n);
    assert_int_equal(n_files(), 1);
    clean();
    return status;
}

static void check_every_call(int big_endian, int maps) {
    static bytes want;
    gb_free(&source);
    build(&source, big_endian);
    hooks h = {.maps = maps};
    ggufx_file *file = NULL;
    OK(open_through(&file, &h, NULL));
    OK(run(file, 0, 0));
    ggufx_file_destroy(file);
    read_all(&want, path);
    clean();
    long n_failed = 0, k = 1;
    do {
        n_failed += fail_and_resume(&want, &h, k) != GGUFX_OK;
        assert_true(k < 1000);
    } while (h.calls >= k++);
    assert_true(n_failed >= (maps ? 1 : 3));
}

static void test_whichever_read_fails_a_resume_comes_to_the_same_bytes(void **state) {
    (void)state;
    check_every_call(0, 0);
    check_every_call(1, 0);
}

static void test_whichever_mapping_fails_a_resume_comes_to_the_same_bytes(void **state) {
    (void)state;
    check_every_call(0, 1);
    check_every_call(1, 1);
}

/* Returns the same importance values, w, for all layers. */
static ggufx_imatrix *make_imatrix(const float *w) {
    ggufx_imatrix *imatrix = NULL;
    gb dat = {0};
    char name[40];
    gb_u32(&dat, kLayers);
    for (int i = 0; i < kLayers; i++) {
        const int length = snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        gb_u32(&dat, (uint32_t)length);
        gb_bytes(&dat, name, (size_t)length);
        gb_u32(&dat, 1);
        gb_u32(&dat, kColumns);
        for (size_t c = 0; c < kColumns; c++) gb_f32(&dat, w[c]);
    }
    OK(ggufx_imatrix_open_memory(&imatrix, rt, dat.data, dat.n, ok_error()));
    gb_free(&dat);
    return imatrix;
}

/* Tensors of one run alternate between codebook types. */
static void test_a_run_keeps_tables_of_codebooks_apart(void **state) {
    (void)state;
    const uint32_t types[1 + kLayers] = {GGUFX_TYPE_F32, GGUFX_TYPE_IQ2_S, GGUFX_TYPE_IQ3_S,
                                         GGUFX_TYPE_IQ3_S, GGUFX_TYPE_IQ1_M};
    static float x[kColumns * kRows], w[kColumns];
    static uint8_t want[kRows * 200];
    gb_free(&source);
    build(&source, 0);
    hooks h = {0};
    ggufx_file *file = NULL, *made = NULL;
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    ggufx_quantize_args how = {.struct_size = sizeof how};
    for (size_t c = 0; c < kColumns; c++) w[c] = (float)(1 + c % 5);
    how.imatrix = w;
    ggufx_imatrix *imatrix = make_imatrix(w);
    options.imatrix = imatrix;
    OK(open_through(&file, &h, NULL));
    OK(ggufx_quantizer_create(&job, rt, file, 15, &options, ok_error()));
    ggufx_imatrix_destroy(imatrix);
    OK(ggufx_quantizer_override_types(job, types, 1 + kLayers, ok_error()));
    OK(ggufx_quantizer_run(job, path, NULL, ok_error()));
    OK(ggufx_open(&made, rt, path, NULL, ok_error()));
    for (size_t i = 1; i <= kLayers; i++) {
        uint64_t row_bytes = 0;
        const ggufx_tensor *tensor = ggufx_file_tensor(made, i);
        OK(ggufx_type_row_bytes(&row_bytes, types[i], kColumns, ok_error()));
        OK(ggufx_dequantize(x, kColumns * kRows, rt, ggufx_file_tensor(file, i), 0, kRows,
                            ok_error()));
        OK(quantize_rows(want, sizeof want, rt, types[i], x, kRows, kColumns, &how, ok_error()));
        assert_memory_equal(ggufx_tensor_data(tensor), want, row_bytes * kRows);
    }
    ggufx_quantizer_destroy(job);
    ggufx_file_destroy(made);
    ggufx_file_destroy(file);
    clean();
}

static int teardown(void **state) {
    gb_free(&source);
    return folder_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whichever_read_fails_a_resume_comes_to_the_same_bytes),
        cmocka_unit_test(test_whichever_mapping_fails_a_resume_comes_to_the_same_bytes),
        cmocka_unit_test(test_a_run_keeps_tables_of_codebooks_apart),
    };
    return cmocka_run_group_tests(tests, folder_setup, teardown);
}
