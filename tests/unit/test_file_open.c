/*
 * Opening from every kind of source: what is read, who frees what, what fails how.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "gguf_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "ggufx-open-XXXXXX";
static char path[256], odd_path[256];
static gb file_bytes;
static ggufx_runtime *rt;

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    gb_everything(&file_bytes, 3, 0);
    snprintf(path, sizeof path, "%s/a.gguf", folder);
    snprintf(odd_path, sizeof odd_path, "%s/\xe6\xa8\xa1\xe5\x9e\x8b-\xc3\xa9.gguf", folder);
    if (gb_write(&file_bytes, path) || gb_write(&file_bytes, odd_path)) return -1;
    return ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    gb_free(&file_bytes);
    remove(path);
    remove(odd_path);
    return rmdir(folder);
}

static ggufx_open_options options_of(uint32_t flags, int32_t io) {
    ggufx_open_options o;
    ggufx_open_options_init(&o);
    o.flags = flags;
    o.io = io;
    return o;
}

/* The file of gb_everything is open and its data are what was written. */
static void check_contents(const ggufx_file *f, int with_data) {
    ggufx_error error;
    size_t index = 0;
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    const ggufx_tensor *t;
    assert_int_equal(ggufx_file_tensor_count(f), 3);
    assert_int_equal(ggufx_file_tensor_find(&index, f, "vector", 6, &error), GGUFX_OK);
    t = ggufx_file_tensor(f, index);
    assert_int_equal(ggufx_tensor_info(&facts, t, &error), GGUFX_OK);
    assert_int_equal(facts.n_bytes, 32);
    if (with_data) {
        float x[8];
        int i;
        assert_non_null(ggufx_tensor_data(t));
        assert_int_equal(ggufx_dequantize(x, 8, rt, t, 0, 1, &error), GGUFX_OK);
        for (i = 0; i < 8; i++) assert_true(x[i] == (float)i - 2.5f);
    } else {
        assert_null(ggufx_tensor_data(t));
    }
}

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
    assert_int_equal(ggufx_open(&f, rt, odd_path, NULL, NULL), GGUFX_OK);
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
    assert_non_null(strstr(error.message, "/missing.gguf")); /* the end of a long path is shown */
    assert_int_equal(ggufx_open(&f, rt, folder, NULL, &error), GGUFX_E_IO);
    assert_int_equal(error.system_error, EISDIR);
    snprintf(fifo, sizeof fifo, "%s/pipe", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ggufx_open(&f, rt, fifo, NULL, &error), GGUFX_E_IO); /* and does not hang */
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
        assert_int_equal(ggufx_file_info(&facts, f, NULL), GGUFX_OK);
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

static void count_one(void *user) {
    ++*(int *)user;
}

static void test_open_memory_borrows_until_the_last_user_is_gone(void **state) {
    int destroyed = 0;
    size_t index = 0;
    ggufx_file *f = NULL;
    ggufx_tensor *row = NULL;
    const ggufx_tensor *vector;
    (void)state;
    assert_int_equal(
        ggufx_open_memory(&f, rt, file_bytes.data, file_bytes.n, count_one, &destroyed, NULL, NULL),
        GGUFX_OK);
    check_contents(f, 1);
    assert_int_equal(ggufx_file_tensor_find(&index, f, "vector", 6, NULL), GGUFX_OK);
    vector = ggufx_file_tensor(f, index);
    assert_ptr_equal(ggufx_tensor_data(vector), file_bytes.data + file_bytes.data_start);
    assert_int_equal(ggufx_tensor_slice(&row, vector, 0, 0, 4, NULL), GGUFX_OK);
    ggufx_file_destroy(f);
    assert_int_equal(destroyed, 0);
    ggufx_tensor_destroy(row);
    assert_int_equal(destroyed, 1);
}

static void test_open_memory_copies_on_request(void **state) {
    const ggufx_open_options o = options_of(GGUFX_OPEN_COPY, GGUFX_IO_AUTO);
    int destroyed = 0;
    ggufx_file *f = NULL;
    unsigned char *bytes = malloc(file_bytes.n);
    (void)state;
    memcpy(bytes, file_bytes.data, file_bytes.n);
    assert_int_equal(
        ggufx_open_memory(&f, rt, bytes, file_bytes.n, count_one, &destroyed, &o, NULL), GGUFX_OK);
    assert_int_equal(destroyed, 1);
    memset(bytes, 0xee, file_bytes.n);
    free(bytes);
    check_contents(f, 1);
    ggufx_file_destroy(f);
    assert_int_equal(destroyed, 1);
}

static void test_open_memory_destroys_once_when_it_fails(void **state) {
    ggufx_open_options bad = options_of(1u << 30, 0);
    int destroyed = 0;
    ggufx_file *f = NULL;
    ggufx_error error;
    const void *data = file_bytes.data;
    (void)state;
    assert_int_equal(ggufx_open_memory(&f, rt, data, 30, count_one, &destroyed, NULL, &error),
                     GGUFX_E_COUNT);
    assert_int_equal(destroyed, 1);
    assert_int_equal(ggufx_open_memory(NULL, rt, data, 30, count_one, &destroyed, NULL, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 2);
    assert_int_equal(ggufx_open_memory(&f, NULL, data, 30, count_one, &destroyed, NULL, NULL),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 3);
    assert_int_equal(ggufx_open_memory(&f, rt, NULL, 30, count_one, &destroyed, NULL, NULL),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 4);
    assert_int_equal(
        ggufx_open_memory(&f, rt, data, file_bytes.n, count_one, &destroyed, &bad, NULL),
        GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 5);
    assert_int_equal(ggufx_open_memory(&f, rt, NULL, 0, count_one, &destroyed, NULL, &error),
                     GGUFX_E_TRUNCATED);
    assert_int_equal(destroyed, 6);
}

/* ---- callbacks ------------------------------------------------------------------------------ */

typedef struct hooks {
    long calls, fail_at, closed, mapped;
    int maps; /* offer map */
} hooks;

static ggufx_status hook_size(void *user, uint64_t *out) {
    hooks *h = user;
    if (++h->calls == h->fail_at) return GGUFX_E_IO;
    *out = file_bytes.n;
    return GGUFX_OK;
}
static ggufx_status hook_read(void *user, uint64_t offset, void *dst, size_t n) {
    hooks *h = user;
    if (++h->calls == h->fail_at) return GGUFX_E_IO;
    if (offset > file_bytes.n || n > file_bytes.n - offset) return GGUFX_E_BOUNDS;
    memcpy(dst, file_bytes.data + offset, n);
    return GGUFX_OK;
}
static const void *hook_map(void *user, uint64_t offset, size_t n) {
    hooks *h = user;
    if (++h->calls == h->fail_at || offset + n > file_bytes.n) return NULL;
    h->mapped++;
    return file_bytes.data + offset;
}
static void hook_unmap(void *user, const void *data, size_t n) {
    (void)data, (void)n;
    ((hooks *)user)->mapped--;
}
static void hook_close(void *user) {
    ((hooks *)user)->closed++;
}

static ggufx_io io_of(hooks *h) {
    ggufx_io io = {.struct_size = sizeof io, .user = h};
    io.size = hook_size;
    io.read_at = hook_read;
    io.close = hook_close;
    if (h->maps) io.map = hook_map, io.unmap = hook_unmap;
    return io;
}

static void test_open_io_reads_or_maps_and_closes_once(void **state) {
    int maps;
    int32_t io;
    (void)state;
    for (maps = 0; maps < 2; maps++)
        for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io++) {
            const ggufx_open_options o = options_of(0, io);
            hooks h = {.maps = maps};
            const ggufx_io callbacks = io_of(&h);
            ggufx_file *f = NULL;
            const ggufx_status status = ggufx_open_io(&f, rt, &callbacks, &o, NULL);
            assert_int_equal(status, io == GGUFX_IO_MAP && !maps ? GGUFX_E_IO : GGUFX_OK);
            if (f) check_contents(f, 1);
            ggufx_file_destroy(f);
            assert_int_equal(h.closed, 1);
            assert_int_equal(h.mapped, 0);
        }
}

static void test_open_io_survives_a_failure_of_each_call(void **state) {
    int maps;
    (void)state;
    for (maps = 0; maps < 2; maps++) {
        const ggufx_open_options o = options_of(0, maps ? GGUFX_IO_MAP : GGUFX_IO_READ);
        ggufx_status status = GGUFX_E_IO;
        long k;
        for (k = 1; status != GGUFX_OK; k++) {
            hooks h = {.maps = maps, .fail_at = k};
            const ggufx_io callbacks = io_of(&h);
            ggufx_error error;
            ggufx_file *f = NULL;
            status = ggufx_open_io(&f, rt, &callbacks, &o, &error);
            if (status != GGUFX_OK) assert_int_equal(status, GGUFX_E_IO);
            assert_int_equal(f != NULL, status == GGUFX_OK);
            ggufx_file_destroy(f);
            assert_int_equal(h.closed, 1);
            assert_int_equal(h.mapped, 0);
        }
        assert_true(k > 2);
    }
}

static void test_open_io_checks_its_struct(void **state) {
    hooks h = {0};
    ggufx_io io = io_of(&h);
    ggufx_file *f = NULL;
    (void)state;
    assert_int_equal(ggufx_open_io(&f, rt, NULL, NULL, NULL), GGUFX_E_ARGUMENT);
    io.read_at = NULL;
    assert_int_equal(ggufx_open_io(&f, rt, &io, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(h.closed, 1);
    io = io_of(&h);
    io.flags = 1;
    assert_int_equal(ggufx_open_io(&f, rt, &io, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(h.closed, 2);
    io = io_of(&h);
    assert_int_equal(ggufx_open_io(NULL, rt, &io, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(h.closed, 3);
}

/* ---- options, cancelling, memory ------------------------------------------------------------ */

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

static void test_open_refuses_more_metadata_than_allowed(void **state) {
    ggufx_open_options o = options_of(0, 0);
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    ggufx_error error;
    ggufx_file *f = NULL;
    (void)state;
    assert_int_equal(ggufx_open(&f, rt, path, NULL, NULL), GGUFX_OK);
    assert_int_equal(ggufx_file_info(&facts, f, NULL), GGUFX_OK);
    ggufx_file_destroy(f);
    for (o.io = GGUFX_IO_AUTO; o.io <= GGUFX_IO_READ; o.io++) {
        o.max_metadata_bytes = facts.meta_end;
        assert_int_equal(ggufx_open(&f, rt, path, &o, NULL), GGUFX_OK);
        ggufx_file_destroy(f);
        o.max_metadata_bytes = facts.meta_end - 1;
        assert_int_equal(ggufx_open(&f, rt, path, &o, &error), GGUFX_E_LIMIT);
        o.max_metadata_bytes = 1000; /* inside of the array of strings */
        assert_int_equal(ggufx_open(&f, rt, path, &o, &error), GGUFX_E_LIMIT);
    }
}

typedef struct canceller {
    long polls, stop_at;
    uint64_t last, total;
} canceller;

static int32_t poll(void *user, uint64_t done, uint64_t total) {
    canceller *c = user;
    c->polls++;
    c->last = done;
    c->total = total;
    return c->polls == c->stop_at;
}

static void test_open_stops_at_every_poll_and_leaves_nothing(void **state) {
    int32_t io;
    (void)state;
    for (io = GGUFX_IO_MAP; io <= GGUFX_IO_READ; io++) {
        ggufx_status status = GGUFX_E_CANCELLED;
        long k;
        fault memory;
        ggufx_runtime *own;
        long live;
        fault_init(&memory);
        own = fault_runtime(&memory, 1);
        live = memory.live;
        for (k = 1; status != GGUFX_OK; k++) {
            canceller c = {.stop_at = k};
            const ggufx_progress progress = {
                .struct_size = sizeof progress, .user = &c, .report = poll};
            ggufx_open_options o = options_of(GGUFX_OPEN_POPULATE, io);
            ggufx_error error;
            ggufx_file *f = NULL;
            o.progress = &progress;
            status = ggufx_open(&f, own, path, &o, &error);
            if (status != GGUFX_OK) {
                assert_int_equal(status, GGUFX_E_CANCELLED);
                assert_null(f);
                assert_int_equal(memory.live, live);
            } else {
                assert_int_equal(c.polls, k - 1);
                assert_int_equal(c.last, c.total); /* all tensor data were loaded */
            }
            ggufx_file_destroy(f);
            assert_true(k < 1000);
        }
        assert_true(k > 3);
        ggufx_runtime_destroy(own);
        assert_int_equal(memory.live, 0);
    }
}

static ggufx_status open_any(void *context, ggufx_runtime *own, ggufx_error *error) {
    const int kind = *(const int *)context;
    const ggufx_open_options o =
        options_of(kind & 4 ? GGUFX_OPEN_COPY : 0, kind & 1 ? GGUFX_IO_READ : GGUFX_IO_AUTO);
    int closed = 0;
    size_t length, array = 0;
    const char *text;
    ggufx_file *f = NULL;
    ggufx_status status = kind & 2 ? ggufx_open_memory(&f, own, file_bytes.data, file_bytes.n,
                                                       count_one, &closed, &o, error)
                                   : ggufx_open(&f, own, path, &o, error);
    if (status == GGUFX_OK) {
        assert_int_equal(ggufx_file_meta_find(&array, f, "a.string", 8, NULL), GGUFX_OK);
        status = ggufx_file_meta_array_string(&text, &length, f, array, 199, error);
    }
    ggufx_file_destroy(f);
    if (kind & 2) assert_int_equal(closed, 1);
    return status;
}

static void test_open_survives_each_failing_allocation(void **state) {
    int kind;
    (void)state;
    for (kind = 0; kind < 8; kind++) assert_true(fault_run(open_any, &kind) > 4);
}

static void test_destroy_takes_null(void **state) {
    (void)state;
    ggufx_file_destroy(NULL);
    ggufx_tensor_destroy(NULL);
    assert_int_equal(ggufx_file_tensor_count(NULL), 0);
    assert_int_equal(ggufx_file_meta_count(NULL), 0);
    assert_null(ggufx_file_tensor(NULL, 0));
    assert_null(ggufx_tensor_data(NULL));
    ggufx_open_options_init(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_by_path_with_every_policy),
        cmocka_unit_test(test_open_locks_memory_or_says_why_not),
        cmocka_unit_test(test_open_takes_any_utf8_path),
        cmocka_unit_test(test_open_names_what_is_wrong_with_a_path),
        cmocka_unit_test(test_open_refuses_an_empty_file_at_offset_0),
        cmocka_unit_test(test_open_fd_reads_a_file_inside_of_another),
        cmocka_unit_test(test_open_memory_borrows_until_the_last_user_is_gone),
        cmocka_unit_test(test_open_memory_copies_on_request),
        cmocka_unit_test(test_open_memory_destroys_once_when_it_fails),
        cmocka_unit_test(test_open_io_reads_or_maps_and_closes_once),
        cmocka_unit_test(test_open_io_survives_a_failure_of_each_call),
        cmocka_unit_test(test_open_io_checks_its_struct),
        cmocka_unit_test(test_open_refuses_options_it_does_not_know),
        cmocka_unit_test(test_open_refuses_more_metadata_than_allowed),
        cmocka_unit_test(test_open_stops_at_every_poll_and_leaves_nothing),
        cmocka_unit_test(test_open_survives_each_failing_allocation),
        cmocka_unit_test(test_destroy_takes_null),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
