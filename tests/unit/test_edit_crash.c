/*
 * Edits in place that were cut short: journals make them whole, or are refused.
 * SPDX-License-Identifier: MIT
 */
#include "edit_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The journal of an edit, as a crash leaves it. */
static void put_journal(const char *name, const unsigned char *after, uint64_t file_size,
                        uint64_t first, uint64_t n) {
    static unsigned char bytes[1 << 16];
    const uint64_t numbers[3] = {file_size, first, n};
    memcpy(bytes, "GGUFXP01", 8);
    for (int i = 0; i < 24; i++) bytes[8 + i] = (unsigned char)(numbers[i / 8] >> (8 * (i % 8)));
    memcpy(bytes + 32, after + first, n);
    put_bytes(name, bytes, 32 + n);
}

static void test_a_crash_at_any_write_is_recovered(void **state) {
    (void)state;
    size_t n = 0, m = 0;
    int32_t found = 0;
    char journal[80];
    snprintf(journal, sizeof journal, "%s.patch", path);
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    rename_model("a longer name", 0);
    unsigned char *after = bytes_of(path, &m);
    for (size_t torn = 0; torn <= 1800; torn += 150) { /* bytes of the edit that reached the disk */
        put_bytes(path, before, n);
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        assert_int_equal(fwrite(after, 1, torn, f), torn);
        fclose(f);
        put_journal(journal, after, n, 0, 2048);
        OK(ggufx_edit_recover(&found, rt, path, NULL));
        assert_int_equal(found, 1);
        assert_file(path, after, n);
        assert_int_equal(n_files(), 1);
        OK(ggufx_edit_recover(&found, rt, path, NULL));
        assert_int_equal(found, 0);
    }
    free(before);
    free(after);
    clean();
}

/* The new bytes are safe elsewhere before the first one goes to the file. */
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
    OK(ggufx_writer_set_string(w, S("general.name"), S("a longer name"), NULL));
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_IO, &e, ".patch");
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
    char journal[80];
    snprintf(journal, sizeof journal, "%s.patch", path);
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    ggufx_file *f = NULL; /* read, not mapped: it is replaced under us */
    ggufx_open_options options;
    ggufx_open_options_init(&options);
    options.io = GGUFX_IO_READ;
    OK(ggufx_open(&f, rt, path, &options, NULL));
    ggufx_writer *w = copy_of(f);
    for (int i = 0; i < 5; i++) {
        put_journal(journal, before, i == 0 ? n + 1 : n, i == 1 ? n - 10 : 0,
                    i == 2 ? 0 : 20);
        if (i == 3) put_bytes(journal, "GGUFXP01", 8);
        if (i == 4) put_bytes(journal, "other stuff that is longer than a header", 40);
        if (i != 2)
            expect(ggufx_edit_recover(&found, rt, path, &e), GGUFX_E_STATE, &e, ".patch");
        expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "recover");
        assert_file(path, before, n);
    }
    assert_int_equal(unlink(journal), 0);
    put_file(path, "another file");
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "another size");
    assert_int_equal(unlink(path), 0);
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_NOT_FOUND, &e, "there is no");
    put_bytes(path, before, n);
    before[30] ^= 1;
    put_bytes(path, before, n);
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "changed since");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    free(before);
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_at_any_write_is_recovered),
        cmocka_unit_test(test_no_byte_is_written_without_a_journal),
        cmocka_unit_test(test_a_journal_of_something_else_is_refused),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
