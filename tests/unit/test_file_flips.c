/*
 * Damaged files: every bit of a small file flipped, random bytes of a large one changed. A file
 * that still opens can be read completely, and a metadata-only open takes at most 16 MiB.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "file_look.h"
#include "gguf_builder.h"
#include "test_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static fault memory;
static ggufx_runtime *rt;

static int setup(void **state) {
    (void)state;
    fault_init(&memory);
    rt = fault_runtime(&memory, 1);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    return memory.live != 0;
}

/* Opens mapped and read, whole and metadata-only; returns how many opens succeeded. */
static int survive(const unsigned char *data, size_t n, int look) {
    int way, accepted = 0;
    for (way = 0; way < 4; way++) {
        ggufx_open_options o = {.struct_size = sizeof o};
        ggufx_error error;
        ggufx_file *f = NULL;
        const long live = memory.live;
        long long base;
        ggufx_status status;
        o.flags = GGUFX_OPEN_LEGACY_V1 | (way & 1 ? GGUFX_OPEN_METADATA_ONLY : 0);
        o.io = way & 2 ? GGUFX_IO_READ : GGUFX_IO_AUTO;
        fault_reset(&memory);
        base = memory.live_bytes;
        status = ggufx_open_memory(&f, rt, data, n, NULL, NULL, &o, &error);
        if (way & 1) assert_true(memory.peak_bytes - base <= 16 << 20);
        assert_int_equal(f != NULL, status == GGUFX_OK);
        if (f) accepted++;
        if (f && look) look_at_file(f, rt);
        if (!f) assert_true(error.offset <= n || error.offset == GGUFX_NONE);
        ggufx_file_destroy(f);
        assert_int_equal(memory.live, live);
    }
    return accepted;
}

static void test_every_flipped_bit_of_a_small_file_is_survived(void **state) {
    gb b;
    size_t bit;
    int accepted = 0;
    (void)state;
    gb_minimal(&b);
    for (bit = 0; bit < b.n * 8; bit++) {
        b.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        accepted += survive(b.data, b.n, 1);
        b.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    assert_true(accepted > 4 * 128 * 8);        /* all flips in the data ... */
    assert_true(accepted < (int)(4 * b.n * 8)); /* ... and not all in the directory */
    gb_free(&b);
}

static void test_every_flipped_bit_of_a_big_endian_directory_is_survived(void **state) {
    gb b;
    size_t bit;
    (void)state;
    gb_everything(&b, 3, 1);
    for (bit = 0; bit < b.data_start * 8; bit += 3 * test_step()) {
        b.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        (void)survive(b.data, b.n, 0);
        b.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    gb_free(&b);
}

static void test_random_changes_are_survived(void **state) {
    static const unsigned char odd[] = {0, 1, 0x7f, 0x80, 0xff, 9, 8};
    gb b;
    unsigned char *copy;
    unsigned seed = 1, i, k;
    (void)state;
    gb_everything(&b, 3, 0);
    copy = malloc(b.n);
    for (i = 0; i < 3000 / test_step(); i++) {
        memcpy(copy, b.data, b.n);
        for (k = 0; k < 1 + i % 4; k++) {
            size_t at;
            seed = seed * 1664525u + 1013904223u;
            at = (seed >> 8) % b.n;
            seed = seed * 1664525u + 1013904223u;
            copy[at] = odd[(seed >> 8) % sizeof odd];
        }
        (void)survive(copy, b.n - i % 7, i % 4 == 0);
    }
    free(copy);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_bit_of_a_small_file_is_survived),
        cmocka_unit_test(test_every_flipped_bit_of_a_big_endian_directory_is_survived),
        cmocka_unit_test(test_random_changes_are_survived),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
