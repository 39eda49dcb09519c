/*
 * ggufx_open and ggufx_open_fd: every read mode, paths and their errors.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "open_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_open_by_path_with_every_policy(void **state) {
    static const uint32_t flags[] = {0, GGUFX_OPEN_POPULATE, GGUFX_OPEN_HUGE_PAGES,
                                     GGUFX_OPEN_METADATA_ONLY,
                                     GGUFX_OPEN_POPULATE | GGUFX_OPEN_HUGE_PAGES};
    size_t i;
    int32_t io;
    (void)state;
    for (i = 0; i < sizeof flags / sizeof *flags; i++)
        for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io++) {
            const ggufx_open_options o = options_of(flags[i], io);
            ggufx_error error;
            ggufx_file *f = NULL;
            if (ggufx_open(&f, rt, path, &o, &error) != GGUFX_OK) fail_msg("%s", error.message);
            check_contents(f, !(flags[i] & GGUFX_OPEN_METADATA_ONLY));
            ggufx_file_destroy(f);
        }
}

static void test_open_locks_memory_or_says_why_not(void **state) {
    int32_t io;
    (void)state;
    for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io++) {
        const ggufx_open_options o = options_of(GGUFX_OPEN_LOCK, io);
        ggufx_error error;
        ggufx_file *f = NULL;
        const ggufx_status status = ggufx_open(&f, rt, path, &o, &error);
        if (status == GGUFX_OK) {
            check_contents(f, 1);
        } else {
            assert_int_equal(status, GGUFX_E_IO);
            assert_int_not_equal(error.system_error, 0);
        }
        ggufx_file_destroy(f);
    }
}

static void test_open_takes_any_utf8_path(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    OK(ggufx_open(&f, rt, odd_path, NULL, ok_error()));
    check_contents(f, 1);
    ggufx_file_destroy(f);
}

static void test_open_names_what_is_wrong_with_a_path(void **state) {
    ggufx_error error;
    ggufx_file *f = (ggufx_file *)&error;
    char fifo[300];
    (void)state;
    assert_int_equal(ggufx_open(&f, rt, "no/such/file.gguf", NULL, &error), GGUFX_E_NOT_FOUND);
    assert_null(f);
    assert_int_equal(error.system_error, ENOENT);
    assert_non_null(strstr(error.message, "no/such/file.gguf"));
    snprintf(fifo, sizeof fifo, "%0200d/missing.gguf", 0);
    assert_int_equal(ggufx_open(&f, rt, fifo, NULL, &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "/missing.gguf")); /* shows the end of a long path */
    assert_int_equal(ggufx_open(&f, rt, folder, NULL, &error), GGUFX_E_IO);
    assert_int_equal(error.system_error, EISDIR);
    snprintf(fifo, sizeof fifo, "%s/pipe", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ggufx_open(&f, rt, fifo, NULL, &error), GGUFX_E_IO); /* and does not block */
    remove(fifo);
    assert_int_equal(ggufx_open(&f, rt, "/dev/null", NULL, &error), GGUFX_E_IO);
}

static void test_open_refuses_an_empty_file_at_offset_0(void **state) {
    char empty[300];
    int32_t io;
    (void)state;
    snprintf(empty, sizeof empty, "%s/empty", folder);
    fclose(fopen(empty, "wb"));
    for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io++) {
        const ggufx_open_options o = options_of(0, io);
        ggufx_error error;
        ggufx_file *f = NULL;
        assert_int_equal(ggufx_open(&f, rt, empty, &o, &error), GGUFX_E_TRUNCATED);
        assert_int_equal(error.offset, 0);
    }
    remove(empty);
}

static void test_open_fd_reads_a_file_inside_of_another(void **state) {
    char archive[300];
    static const char junk[5001] = "GGUFnot really";
    FILE *out;
    int32_t io;
    int fd;
    (void)state;
    snprintf(archive, sizeof archive, "%s/archive", folder);
    out = fopen(archive, "wb");
    fwrite(junk, 1, sizeof junk, out);
    fwrite(file_bytes.data, 1, file_bytes.n, out);
    fwrite(junk, 1, 77, out);
    fclose(out);
    fd = open(archive, O_RDONLY);
    for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io++) {
        const ggufx_open_options o = options_of(0, io);
        ggufx_file_facts facts = {.struct_size = sizeof facts};
        ggufx_error error;
        ggufx_file *f = NULL;
        assert_int_equal(ggufx_open_fd(&f, rt, fd, sizeof junk, file_bytes.n, &o, &error),
                         GGUFX_OK);
        check_contents(f, 1);
        OK(ggufx_file_info(&facts, f, ok_error()));
        assert_int_equal(facts.file_size, file_bytes.n);
        ggufx_file_destroy(f);
        assert_int_equal(ggufx_open_fd(&f, rt, fd, sizeof junk, 0, &o, &error), GGUFX_OK);
        check_contents(f, 1);
        ggufx_file_destroy(f);
        assert_int_equal(ggufx_open_fd(&f, rt, fd, sizeof junk, file_bytes.n + 78, &o, &error),
                         GGUFX_E_BOUNDS);
        assert_int_equal(ggufx_open_fd(&f, rt, fd, UINT64_MAX, 0, &o, &error), GGUFX_E_BOUNDS);
        assert_int_equal(ggufx_open_fd(&f, rt, fd, 8, UINT64_MAX, &o, &error), GGUFX_E_BOUNDS);
        assert_int_equal(ggufx_open_fd(&f, rt, fd, 0, 0, &o, &error), GGUFX_E_VERSION);
    }
    assert_int_equal(fcntl(fd, F_GETFD) >= 0, 1); /* the caller's descriptor is still open */
    close(fd);
    assert_int_equal(ggufx_open_fd(&(ggufx_file *){NULL}, rt, fd, 0, 0, NULL, NULL), GGUFX_E_IO);
    remove(archive);
}

static void test_open_refuses_options_it_does_not_know(void **state) {
    ggufx_open_options o = options_of(0, 7);
    ggufx_file *f = NULL;
    (void)state;
    assert_int_equal(ggufx_open(&f, rt, path, &o, NULL), GGUFX_E_ARGUMENT);
    o = options_of(0, -1);
    assert_int_equal(ggufx_open(&f, rt, path, &o, NULL), GGUFX_E_ARGUMENT);
    o = options_of(0, 0);
    o.dialect = 1;
    assert_int_equal(ggufx_open(&f, rt, path, &o, NULL), GGUFX_E_UNSUPPORTED);
    assert_int_equal(ggufx_open(&f, rt, NULL, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_open(NULL, rt, path, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_open(&f, NULL, path, NULL, NULL), GGUFX_E_ARGUMENT);
}

static void test_destroy_takes_null(void **state) {
    (void)state;
    ggufx_file_destroy(NULL);
    ggufx_tensor_destroy(NULL);
    assert_int_equal(ggufx_file_tensor_count(NULL), 0);
    assert_int_equal(ggufx_file_meta_count(NULL), 0);
    assert_null(ggufx_file_tensor(NULL, 0));
    assert_null(ggufx_tensor_data(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_by_path_with_every_policy),
        cmocka_unit_test(test_open_locks_memory_or_says_why_not),
        cmocka_unit_test(test_open_takes_any_utf8_path),
        cmocka_unit_test(test_open_names_what_is_wrong_with_a_path),
        cmocka_unit_test(test_open_refuses_an_empty_file_at_offset_0),
        cmocka_unit_test(test_open_fd_reads_a_file_inside_of_another),
        cmocka_unit_test(test_open_refuses_options_it_does_not_know),
        cmocka_unit_test(test_destroy_takes_null),
    };
    return cmocka_run_group_tests(tests, open_setup, open_teardown);
}
