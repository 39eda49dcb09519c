/*
 * Tensors quantized in several pieces, each written while the next one is quantized: the same bytes
 * with any threads. Failing writes, cancelled calls and refused values in any piece, and a resume.
 * SPDX-License-Identifier: MIT
 */
#include "job_polls.h"
#include "ok.h"
#include "test_step.h"
#include "writer_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A piece is 16 MiB of f32: 2048 rows here. */
enum { kColumns = 2048, kRows = 4500, kPieceRows = 2048, kType = 7 /* Q8_0 */ };
enum { kPieceBytes = 2 * kPieceRows * kColumns /* bytes of the f16 input */ };

static gb source;
static size_t data_at; /* offset of the matrix's first value in source */
static unsigned char *want;
static size_t n_want;

/* Replaces a value; returns the old bits. */
static unsigned put_f16(size_t row, size_t column, unsigned bits) {
    unsigned char *at = (unsigned char *)source.data + data_at + 2 * (row * kColumns + column);
    const unsigned old = at[0] | (unsigned)at[1] << 8;
    at[0] = (unsigned char)bits;
    at[1] = (unsigned char)(bits >> 8);
    return old;
}

static void build(void) {
    const uint64_t shape[2] = {kColumns, kRows}, n = 2ull * kColumns * kRows;
    unsigned char *zeros = calloc(1, n);
    uint32_t state = 5;
    gb_begin(&source, 3, 0);
    gb_key_string(&source, "general.architecture", "llama");
    gb_tensor(&source, "blk.0.attn_q.weight", GGUFX_TYPE_F16, 2, shape, n);
    gb_data(&source);
    data_at = source.n;
    gb_bytes(&source, zeros, n);
    gb_pad(&source);
    free(zeros);
    for (size_t i = 0; i < (size_t)kRows * kColumns; i++) {
        state = state * 1664525u + 1013904223u;
        put_f16(i / kColumns, i % kColumns, (state >> 12 & 0x83ffu) | ((state >> 29) + 8) << 10);
    }
}

static ggufx_quantizer *plan(ggufx_runtime **own, uint32_t threads) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_quantizer_options how = {.struct_size = sizeof how};
    ggufx_file *file = NULL;
    ggufx_quantizer *job = NULL;
    options.threads = threads;
    OK(ggufx_runtime_create(own, &options, ok_error()));
    OK(ggufx_open_memory(&file, *own, source.data, source.n, NULL, NULL, NULL, ok_error()));
    how.flags = GGUFX_QUANTIZER_PURE;
    OK(ggufx_quantizer_create(&job, *own, file, kType, &how, ok_error()));
    ggufx_file_destroy(file);
    return job;
}

static ggufx_status run(ggufx_quantizer *job, uint32_t flags, polls *p, ggufx_error *e) {
    const ggufx_progress progress = {.user = p, .report = count_polls};
    ggufx_quantizer_run_options how = {.struct_size = sizeof how};
    how.flags = flags;
    how.progress = &progress;
    return ggufx_quantizer_run(job, path, &how, e);
}

static void assert_as_wanted(void) {
    assert_int_equal(n_files(), 1);
    assert_file(path, want, n_want);
    clean();
}

static void test_threads_change_no_byte(void **state) {
    static const uint32_t threads[] = {1, 2, 5};
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        ggufx_runtime *own = NULL;
        ggufx_quantizer *job = plan(&own, threads[i]);
        polls p = {0};
        OK(run(job, 0, &p, NULL));
        assert_true(p.n > (kRows + kPieceRows - 1) / kPieceRows);
        assert_as_wanted();
        ggufx_quantizer_destroy(job);
        ggufx_runtime_destroy(own);
    }
}

static void test_a_call_cancelled_in_any_piece_goes_on(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *own = NULL;
        ggufx_quantizer *job = plan(&own, threads);
        int n_cancelled = 0;
        for (long k = 2;; k += 3 * (long)test_step()) {
            polls p = {.stop_at = k}, none = {0};
            const ggufx_status status = run(job, GGUFX_QUANTIZER_KEEP, &p, NULL);
            if (status == GGUFX_OK) break;
            assert_int_equal(status, GGUFX_E_CANCELLED);
            /* A run cancelled in the first piece has nothing to resume and keeps nothing. */
            assert_true(n_files() == 2 || (n_files() == 0 && p.done <= kPieceBytes));
            OK(run(job, GGUFX_QUANTIZER_RESUME, &none, NULL));
            assert_as_wanted();
            n_cancelled++;
        }
        assert_true(n_cancelled > 0);
        clean();
        ggufx_quantizer_destroy(job);
        ggufx_runtime_destroy(own);
    }
}

/* Runs with `room` bytes for the file, which must not suffice. */
static void run_in(size_t room, ggufx_quantizer *job) {
    struct rlimit old, small;
    ggufx_error e;
    polls p = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = room;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const ggufx_status status = run(job, GGUFX_QUANTIZER_KEEP, &p, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    expect(status, GGUFX_E_IO, &e, "too large");
    assert_int_equal(e.offset, room);
}

static void test_a_write_that_fails_in_any_piece_is_reported_and_a_resume_goes_on(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ggufx_runtime *own = NULL;
        ggufx_quantizer *job = plan(&own, threads);
        for (size_t room = 300; room < n_want; room += n_want / 5 * test_step() + 1) {
            polls p = {0};
            run_in(room, job);
            OK(run(job, GGUFX_QUANTIZER_RESUME, &p, NULL));
            assert_as_wanted();
        }
        ggufx_quantizer_destroy(job);
        ggufx_runtime_destroy(own);
    }
}

/* Invalid values in the first and last pieces: the error has row and column of the tensor, and no
 * file is left. An earlier write error takes precedence. */
static void test_values_that_are_refused_have_their_position(void **state) {
    static const size_t rows[] = {2 * kPieceRows + 77, kPieceRows, 0, kRows - 1};
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i += test_step_sanitized()) {
            ggufx_runtime *own = NULL;
            ggufx_error e;
            polls p = {0};
            char place[60];
            const unsigned old = put_f16(rows[i], 1234, 0x7e00);
            ggufx_quantizer *job = plan(&own, threads);
            snprintf(place, sizeof place, "row %zu, column 1234 is", rows[i]);
            expect(run(job, 0, &p, &e), GGUFX_E_VALUE, &e, place);
            assert_int_equal(e.index, rows[i]);
            assert_int_equal(n_files(), 0);
            if (rows[i] >= kPieceRows) run_in(5000, job);
            clean();
            put_f16(rows[i], 1234, old);
            ggufx_quantizer_destroy(job);
            ggufx_runtime_destroy(own);
        }
}

static int setup(void **state) {
    if (folder_setup(state) != 0) return -1;
    build();
    ggufx_runtime *own = NULL;
    ggufx_quantizer *job = plan(&own, 1);
    polls p = {0};
    OK(run(job, 0, &p, NULL));
    FILE *file = fopen(path, "rb");
    want = malloc(source.n);
    n_want = fread(want, 1, source.n, file);
    fclose(file);
    clean();
    ggufx_quantizer_destroy(job);
    ggufx_runtime_destroy(own);
    return n_want > (size_t)kRows * kColumns ? 0 : -1;
}

static int teardown(void **state) {
    gb_free(&source);
    free(want);
    return folder_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_change_no_byte),
        cmocka_unit_test(test_a_call_cancelled_in_any_piece_goes_on),
        cmocka_unit_test(test_a_write_that_fails_in_any_piece_is_reported_and_a_resume_goes_on),
        cmocka_unit_test(test_values_that_are_refused_have_their_position),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
