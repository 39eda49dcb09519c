/*
 * Interrupted edits in place: journals complete them, or are refused.
 * SPDX-License-Identifier: MIT
 */
#include "edit_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* CRC-64 of ECMA-182, reflected, bit by bit. */
static uint64_t crc64(uint64_t crc, const unsigned char *data, size_t n) {
    crc = ~crc;
    for (size_t i = 0; i < 8 * n; i++) {
        crc ^= (uint64_t)(data[i / 8] >> (i % 8) & 1);
        crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42u : 0);
    }
    return ~crc;
}

static void put_u64(unsigned char *out, uint64_t v) {
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(v >> 8 * i);
}

static char journal[TEMPORARY_PATH]; /* in the model's folder */

/* A model, and all its bytes before and after an edit in place. */
typedef struct edited {
    unsigned char *before, *after;
    size_t n;
} edited;

static edited edit_model(void) {
    edited e;
    size_t n = 0;
    make_model(200);
    e.before = bytes_of(path, &e.n);
    rename_model("a longer name", 0);
    e.after = bytes_of(path, &n);
    assert_int_equal(n, e.n);
    return e;
}

static void drop(edited *e) {
    free(e->before);
    free(e->after);
    clean();
}

/* Writes the journal of an edit as a crash leaves it; the header ends with the changed bytes. */
static void put_journal(const char *name, const unsigned char *before, const unsigned char *after,
                        uint64_t file_size, uint64_t first, uint64_t n) {
    static unsigned char bytes[1 << 16];
    const uint64_t numbers[6] = {file_size, first + n, crc64(0, before, first), 1, first, n};
    memcpy(bytes, "GGUFXP02", 8);
    for (int i = 0; i < 6; i++) put_u64(bytes + 8 + 8 * i, numbers[i]);
    memcpy(bytes + 56, before + first, n);
    memcpy(bytes + 56 + n, after + first, n);
    put_u64(bytes + 56 + 2 * n, crc64(0, bytes, 56 + 2 * n));
    put_bytes(name, bytes, 56 + 2 * n + 8);
}

static void test_a_crash_at_any_write_is_recovered(void **state) {
    (void)state;
    int32_t found = 0;
    edited model = edit_model();
    unsigned char *before = model.before, *after = model.after;
    const size_t n = model.n;
    for (size_t torn = 0; torn <= 1800; torn += 150) { /* bytes of the edit that reached the disk */
        put_bytes(path, before, n);
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        assert_int_equal(fwrite(after, 1, torn, f), torn);
        fclose(f);
        put_journal(journal, before, after, n, 20, 2028);
        OK(ggufx_file_recover_edit(&found, rt, path, ok_error()));
        assert_int_equal(found, 1);
        assert_file(path, after, n);
        assert_int_equal(n_files(), 1);
        OK(ggufx_file_recover_edit(&found, rt, path, ok_error()));
        assert_int_equal(found, 0);
    }
    drop(&model);
}

/* The new bytes are stored in the journal before the first one is written to the file. */
static void test_no_byte_is_written_without_a_journal(void **state) {
    (void)state;
    size_t n = 0;
    char taken[80];
    ggufx_error e;
    snprintf(taken, sizeof taken, "%s.patch.part", path);
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    assert_int_equal(mkdir(taken, 0700), 0);
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    OK(ggufx_writer_set_string(w, S("general.name"), S("a longer name"), ok_error()));
    expect(ggufx_writer_edit(NULL, w, f, path, NULL, &e), GGUFX_E_IO, &e, ".patch");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    assert_file(path, before, n);
    assert_int_equal(rmdir(taken), 0);
    assert_int_equal(rename_model("a longer name", 0).in_place, 1);
    free(before);
    clean();
}

static void test_a_journal_of_something_else_is_refused(void **state) {
    (void)state;
    size_t n = 0;
    int32_t found = 1;
    ggufx_error e;
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    ggufx_file *f = NULL; /* read, not mapped: the file is replaced while open */
    ggufx_open_options options = {.struct_size = sizeof options};
    options.io = GGUFX_IO_READ;
    OK(ggufx_open(&f, rt, path, &options, ok_error()));
    ggufx_writer *w = copy_of(f);
    for (int i = 0; i < 5; i++) {
        put_journal(journal, before, before, i == 0 ? n + 1 : n, 0,
                    i == 1   ? n + 1
                    : i == 2 ? 0
                             : 20);
        if (i == 3) put_bytes(journal, "GGUFXP02", 8);
        if (i == 4) put_bytes(journal, "other stuff that is longer than a header", 40);
        if (i != 2)
            expect(ggufx_file_recover_edit(&found, rt, path, &e), GGUFX_E_STATE, &e, ".patch");
        expect(ggufx_writer_edit(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "recover");
        assert_file(path, before, n);
    }
    assert_int_equal(unlink(journal), 0);
    put_file(path, "another file");
    expect(ggufx_writer_edit(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "another size");
    assert_int_equal(unlink(path), 0);
    expect(ggufx_writer_edit(NULL, w, f, path, NULL, &e), GGUFX_E_NOT_FOUND, &e, "there is no");
    put_bytes(path, before, n);
    before[30] ^= 1;
    put_bytes(path, before, n);
    expect(ggufx_writer_edit(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "changed since");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    free(before);
    clean();
}

/* The journal of an interrupted edit, next to another file of the same name and size. */
static void test_a_journal_is_not_replayed_into_another_file(void **state) {
    (void)state;
    ggufx_error e;
    int32_t found = 0;
    edited model = edit_model();
    unsigned char *before = model.before, *after = model.after;
    const size_t n = model.n;
    for (int layout = 1; layout <= 2; layout++) {
        put_journal(journal, before, after, n, 20, 2028);
        if (layout == 1) { /* earlier versions: the file's size, offset, length, new bytes */
            static unsigned char old[32 + 2028] = "GGUFXP01";
            const uint64_t numbers[3] = {n, 20, 2028};
            for (int i = 0; i < 3; i++) put_u64(old + 8 + 8 * i, numbers[i]);
            memcpy(old + 32, after + 20, 2028);
            put_bytes(journal, old, sizeof old);
        }
        for (size_t at = 0; at < 2048; at += 100) { /* another byte anywhere in the header */
            before[at] ^= 1;
            put_bytes(path, before, n);
            expect(ggufx_file_recover_edit(&found, rt, path, &e), GGUFX_E_STATE, &e, ".patch");
            assert_file(path, before, n);
            before[at] ^= 1;
        }
        put_bytes(path, after, n); /* the edit was complete: nothing is left to do */
        OK(ggufx_file_recover_edit(&found, rt, path, ok_error()));
        assert_int_equal(found, 1);
        assert_file(path, after, n);
    }
    drop(&model);
}

static int setup(void **state) {
    if (folder_setup(state) != 0) return -1;
    temporary_path(journal, "a.gguf.patch");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_at_any_write_is_recovered),
        cmocka_unit_test(test_no_byte_is_written_without_a_journal),
        cmocka_unit_test(test_a_journal_of_something_else_is_refused),
        cmocka_unit_test(test_a_journal_is_not_replayed_into_another_file),
    };
    return cmocka_run_group_tests(tests, setup, folder_teardown);
}
