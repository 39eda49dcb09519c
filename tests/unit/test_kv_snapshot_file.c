/*
 * Snapshots of a KV cache in files: the bytes of ggufx_kv_save, complete or not at all.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "ok.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kDim = 64, kTokens = 300 };

static char path[TEMPORARY_PATH], part[TEMPORARY_PATH];
static const char *folder;

static ggufx_kv *filled(const ggufx_runtime *rt, uint32_t seed) {
    ggufx_kv_options shape = kv_shape(1, 2, kDim, kDim, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F32);
    shape.n_sequences = 2;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(kTokens * kDim, seed);
    for (uint32_t s = 0; s < 2; s++) kv_fill(kv, &shape, s, kTokens, 100, NULL, x, x);
    free(x);
    return kv;
}

static kv_bytes file_bytes(void) {
    kv_bytes b = {0};
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        assert_int_equal(kv_bytes_write(&b, piece, n), GGUFX_OK);
    fclose(f);
    return b;
}

static void put_file(const char *name, const uint8_t *data, size_t n) {
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void assert_file(const kv_bytes *want) {
    kv_bytes now = file_bytes();
    assert_int_equal(now.n, want->n);
    assert_memory_equal(now.data, want->data, want->n);
    free(now.data);
}

/* A new file is readable by its owner only, for any umask; a replaced file keeps its mode. */
static void test_snapshots_are_for_their_owner(void **state) {
    (void)state;
    struct stat info;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv *kv = filled(rt, 1);
    const mode_t mask = umask(0);
    for (unsigned mode = 0600; mode <= 0640; mode += 040) {
        OK(ggufx_kv_save_file(kv, 0, path, ok_error()));
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 07777, mode);
        assert_int_equal(chmod(path, 0640), 0);
    }
    umask(mask);
    assert_int_equal(unlink(path), 0);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static void test_files_hold_the_bytes_of_save_and_replace_each_other(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv *a = filled(rt, 1), *b = filled(rt, 2);
    OK(ggufx_kv_compact(b, GGUFX_ALL_SEQUENCES, NULL, ok_error())); /* spare pages */
    const long live = memory.live;
    ggufx_error error;
    static const uint32_t which[] = {0, GGUFX_ALL_SEQUENCES, 1}; /* long after short, and back */
    for (size_t i = 0; i < 3; i++) {
        kv_bytes want = kv_saved(a, which[i]);
        uint8_t *left = calloc(want.n + 1000, 1); /* left by a killed process */
        assert_non_null(left);
        put_file(part, left, want.n + 1000);
        free(left);
        assert_int_equal(ggufx_kv_save_file(a, which[i], path, &error), GGUFX_OK);
        assert_int_equal(access(part, F_OK), -1);
        assert_file(&want);
        assert_int_equal(ggufx_kv_load_file(b, which[i], path, &error), GGUFX_OK);
        kv_bytes back = kv_saved(b, which[i]);
        assert_int_equal(back.n, want.n);
        assert_memory_equal(back.data, want.data, want.n);
        free(want.data);
        free(back.data);
    }
    assert_int_equal(memory.live, live);
    ggufx_kv_destroy(a);
    ggufx_kv_destroy(b);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

/* A save that must fail: the file stays, and no temporary file is left. */
static void refused_save(const ggufx_kv *kv, ggufx_status want, int system_error,
                         const kv_bytes *held) {
    ggufx_error error;
    assert_int_equal(ggufx_kv_save_file(kv, 0, path, &error), want);
    assert_int_equal(error.status, want);
    assert_int_equal(error.system_error, system_error);
    assert_non_null(strstr(error.message, want == GGUFX_E_MEMORY ? "memory" : folder));
    assert_file(held);
}

static void test_a_failed_save_leaves_the_file_and_nothing_else(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv *a = filled(rt, 1), *b = filled(rt, 2);
    const long live = memory.live;
    OK(ggufx_kv_save_file(a, 0, path, ok_error()));
    kv_bytes held = kv_saved(a, 0);
    for (long at = 1; at <= 4; at++) { /* the names and the buffer */
        memory.fail_at = at;
        refused_save(b, GGUFX_E_MEMORY, 0, &held);
        assert_int_equal(access(part, F_OK), -1);
    }
    const int other = open(part, O_WRONLY | O_CREAT, 0666); /* another call writes it */
    assert_true(other >= 0 && flock(other, LOCK_EX) == 0);
    refused_save(b, GGUFX_E_STATE, 0, &held);
    assert_int_equal(access(part, F_OK), 0);
    close(other);
    unlink(part);
    struct rlimit old, small; /* a full disk */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    refused_save(b, GGUFX_E_IO, EFBIG, &held);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(access(part, F_OK), -1);
    ggufx_error error;
    assert_int_equal(ggufx_kv_save_file(b, 0, folder, &error), GGUFX_E_IO);
    assert_int_equal(ggufx_kv_save_file(b, 0, "/dev/null", &error), GGUFX_E_IO);
    assert_int_equal(ggufx_kv_save_file(b, 0, "/nowhere/at/all", &error), GGUFX_E_IO);
    assert_int_equal(error.system_error, ENOENT);
    assert_int_equal(ggufx_kv_save_file(b, 2, path, &error), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(error.message, "sequence 2"));
    assert_int_equal(ggufx_kv_save_file(b, 0, NULL, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_save_file(NULL, 0, path, &error), GGUFX_E_ARGUMENT);
    assert_file(&held);
    assert_int_equal(access(part, F_OK), -1);
    assert_int_equal(memory.live, live);
    free(held.data);
    ggufx_kv_destroy(a);
    ggufx_kv_destroy(b);
    ggufx_runtime_destroy(rt);
}

static void test_damaged_files_are_refused_and_change_nothing(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv *a = filled(rt, 1), *b = filled(rt, 2);
    kv_bytes good = kv_saved(a, 0), held = kv_saved(b, 0);
    const long live = memory.live;
    const struct {
        size_t n, flip;
        ggufx_status want;
    } damages[] = {{0, 0, GGUFX_E_TRUNCATED},
                   {7, 0, GGUFX_E_TRUNCATED},
                   {good.n - 1, 0, GGUFX_E_TRUNCATED},
                   {65536, 0, GGUFX_E_TRUNCATED},
                   {good.n + 1, 0, GGUFX_E_MALFORMED},
                   {good.n, 3, GGUFX_E_MAGIC},
                   {good.n, 10, GGUFX_E_VERSION},
                   {good.n, good.n / 2, GGUFX_E_CHECKSUM},
                   {good.n, good.n - 1, GGUFX_E_CHECKSUM}};
    uint8_t *data = calloc(good.n + 1, 1);
    assert_non_null(data);
    assert_true(good.n > 65536);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        memcpy(data, good.data, good.n);
        if (damages[i].flip) data[damages[i].flip] ^= 0x40;
        put_file(path, data, damages[i].n);
        ggufx_error error;
        const ggufx_status status = ggufx_kv_load_file(b, 0, path, &error);
        if (status != damages[i].want) fail_msg("damage %zu: %d, %s", i, status, error.message);
        assert_int_equal(error.status, status);
        kv_bytes now = kv_saved(b, 0);
        assert_memory_equal(now.data, held.data, held.n);
        free(now.data);
        assert_int_equal(memory.live, live);
    }
    ggufx_error error;
    assert_int_equal(ggufx_kv_load_file(b, 0, "/nowhere/at/all", &error), GGUFX_E_IO);
    assert_int_equal(error.system_error, ENOENT);
    assert_int_equal(ggufx_kv_load_file(b, 0, folder, &error), GGUFX_E_IO);
    assert_int_equal(error.system_error, EISDIR);
    assert_int_equal(ggufx_kv_load_file(b, 0, NULL, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_load_file(NULL, 0, path, &error), GGUFX_E_ARGUMENT);
    put_file(path, good.data, good.n);
    for (long k = 1;; k++) {
        memory.fail_at = k;
        const ggufx_status status = ggufx_kv_load_file(b, 0, path, &error);
        if (status == GGUFX_OK) break;
        assert_int_equal(status, GGUFX_E_MEMORY);
        assert_int_equal(memory.live, live);
    }
    memory.fail_at = 0;
    kv_bytes now = kv_saved(b, 0);
    assert_memory_equal(now.data, good.data, good.n);
    free(now.data);
    free(data);
    free(good.data);
    free(held.data);
    ggufx_kv_destroy(a);
    ggufx_kv_destroy(b);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    if (temporary_make() != 0) return 1;
    folder = temporary_folder();
    temporary_path(path, "cache");
    temporary_path(part, "cache.part");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots_are_for_their_owner),
        cmocka_unit_test(test_files_hold_the_bytes_of_save_and_replace_each_other),
        cmocka_unit_test(test_a_failed_save_leaves_the_file_and_nothing_else),
        cmocka_unit_test(test_damaged_files_are_refused_and_change_nothing),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed + (temporary_remove() != 0); /* it must be empty */
}
