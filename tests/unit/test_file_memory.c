/*
 * Memory of tensor data: mappings that processes share, copies in huge pages, and what happens
 * without huge pages, memory or the rest of the file.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "gguf_builder.h"
#include "ok.h"
#include "temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifndef PR_SET_THP_DISABLE
#define PR_SET_THP_DISABLE 41
#endif

#define MIB (UINT64_C(1) << 20)
#define N_BYTES (32 * MIB) /* tensor data: the least that AUTO copies */
#define KIND_F32 0

static char path[TEMPORARY_PATH];
static fault memory;
static ggufx_runtime *rt;
static char logged[512];
static int n_logged;

static void log_line(void *user, int32_t level, const char *text, size_t n) {
    (void)user;
    if (level > GGUFX_LOG_WARNING) return;
    n_logged++;
    snprintf(logged, sizeof logged, "%.*s", (int)n, text);
}

static void write_file(void) {
    const uint64_t ne[1] = {N_BYTES / 4};
    uint32_t *data = malloc(N_BYTES);
    gb b;
    assert_non_null(data);
    for (uint32_t i = 0; i < N_BYTES / 4; i++) data[i] = i * 2654435761u >> 8;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "test");
    gb_tensor(&b, "w", KIND_F32, 1, ne, N_BYTES);
    gb_data(&b);
    gb_tensor_data(&b, data, N_BYTES);
    assert_int_equal(gb_write(&b, path), 0);
    gb_free(&b);
    free(data);
}

static int setup(void **state) {
    ggufx_log log = {.struct_size = sizeof log, .write = log_line};
    ggufx_runtime_options o = {.struct_size = sizeof o, .threads = 2, .log = &log};
    (void)state;
#ifdef __GLIBC__
    mallopt(M_PERTURB, 0); /* it would touch all pages before the advice */
#endif
    temporary_path(path, "w.gguf");
    write_file();
    fault_init(&memory);
    o.allocator = &memory.allocator;
    return ggufx_runtime_create(&rt, &o, NULL) == GGUFX_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
    remove(path);
    return 0;
}

static ggufx_status open_with(ggufx_file **out, uint32_t flags, const ggufx_progress *progress) {
    ggufx_open_options o = {.struct_size = sizeof o, .flags = flags, .progress = progress};
    n_logged = 0;
    return ggufx_open(out, rt, path, &o, ok_error());
}

static ggufx_file_memory_facts memory_of(const ggufx_file *f) {
    ggufx_file_memory_facts m = {.struct_size = sizeof m};
    OK(ggufx_file_memory(&m, f, ok_error()));
    return m;
}

static int is_whole(const ggufx_file *f) {
    const uint32_t *data = ggufx_tensor_data(ggufx_file_tensor(f, 0));
    for (uint32_t i = 0; i < N_BYTES / 4; i++)
        if (data[i] != i * 2654435761u >> 8) return 0;
    return 1;
}

/* Leaves the file in the page cache in small pages, as reads of pieces do. */
static void cache_small_pages(void) {
    static char piece[65536];
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (off_t at = 0; pread(fd, piece, sizeof piece, at) > 0;) at += (off_t)sizeof piece;
    close(fd);
}

static void drop_cache(void) {
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* Returns whether huge pages exist, as the kernel gives them to this process. */
static int has_huge_pages(void) {
    ggufx_file *f = NULL;
    OK(open_with(&f, GGUFX_OPEN_HUGE_PAGES, NULL));
    const int has = memory_of(f).copied_bytes > 0 && memory_of(f).huge_bytes != GGUFX_NONE;
    ggufx_file_destroy(f);
    if (!has) print_message("skipped: this system has no transparent huge pages\n");
    return has;
}

/* Returns whether mappings of files have huge pages, and small ones after small reads. */
static int maps_huge_pages(void) {
    ggufx_file *f = NULL;
    drop_cache();
    OK(open_with(&f, GGUFX_OPEN_POPULATE, NULL));
    const int has = memory_of(f).huge_bytes != GGUFX_NONE && memory_of(f).huge_bytes > N_BYTES / 2;
    ggufx_file_destroy(f);
    if (!has) print_message("skipped: files of this file system are not mapped in huge pages\n");
    return has;
}

static void test_a_mapping_takes_no_memory_of_its_own(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    const long long before = memory.live_bytes;
    fault_reset(&memory);
    OK(open_with(&f, 0, NULL));
    assert_true(is_whole(f));
    const ggufx_file_memory_facts m = memory_of(f);
    assert_true(m.mapped_bytes == N_BYTES && m.copied_bytes == 0);
    assert_true(memory.peak_bytes - before < (long long)MIB);
    if (m.resident_bytes != GGUFX_NONE) assert_true(m.resident_bytes == N_BYTES);
    ggufx_file_destroy(f);
}

static void test_a_mapping_has_huge_pages_if_the_cache_is_empty(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    if (!maps_huge_pages()) skip();
    drop_cache();
    OK(open_with(&f, 0, NULL)); /* reads the header, after the advice */
    assert_true(is_whole(f));
    assert_true(memory_of(f).huge_bytes >= N_BYTES - 4 * MIB);
    ggufx_file_destroy(f);
}

static void test_small_pages_are_read_again_on_request(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    if (!maps_huge_pages()) skip();
    cache_small_pages();
    OK(open_with(&f, GGUFX_OPEN_POPULATE, NULL));
    assert_true(memory_of(f).huge_bytes < N_BYTES / 2);
    ggufx_file_destroy(f);
    OK(open_with(&f, GGUFX_OPEN_POPULATE | GGUFX_OPEN_REREAD, NULL));
    assert_true(is_whole(f));
    assert_true(memory_of(f).huge_bytes >= N_BYTES - 4 * MIB);
    ggufx_file_destroy(f);
}

static void test_a_copy_has_the_file_once(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    if (!has_huge_pages()) skip();
    const long live = memory.live;
    const long long before = memory.live_bytes;
    fault_reset(&memory);
    OK(open_with(&f, GGUFX_OPEN_HUGE_PAGES, NULL));
    const ggufx_file_memory_facts m = memory_of(f);
    assert_true(m.copied_bytes == N_BYTES && m.mapped_bytes == 0);
    assert_true(m.resident_bytes == N_BYTES);
    assert_true(m.huge_bytes >= N_BYTES - 2 * MIB); /* the allocator touches the first page */
    assert_true(memory.peak_bytes - before <= (long long)(N_BYTES + 3 * MIB));
    assert_int_equal(truncate(path, 100), 0); /* nothing reads the file any more */
    assert_true(is_whole(f));
    assert_int_equal(ggufx_file_meta_count(f), 1);
    write_file();
    ggufx_file_destroy(f);
    assert_int_equal(memory.live, live);
}

static void test_auto_copies_small_pages_only(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    if (!has_huge_pages() || !maps_huge_pages()) skip();
    drop_cache();
    OK(open_with(&f, GGUFX_OPEN_HUGE_AUTO, NULL));
    assert_true(memory_of(f).mapped_bytes == N_BYTES && is_whole(f));
    ggufx_file_destroy(f);
    cache_small_pages();
    OK(open_with(&f, GGUFX_OPEN_HUGE_AUTO, NULL));
    assert_true(memory_of(f).copied_bytes == N_BYTES && is_whole(f));
    ggufx_file_destroy(f);
    drop_cache();
}

static void test_auto_obeys_a_limit_of_the_process(void **state) {
    ggufx_file *f = NULL;
    struct rlimit before, limit;
    (void)state;
    if (!has_huge_pages() || !maps_huge_pages()) skip();
    cache_small_pages();
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = 1; /* nothing is left: the allocator of the test has memory of before */
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    const ggufx_status status = open_with(&f, GGUFX_OPEN_HUGE_AUTO, NULL);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    assert_int_equal(status, GGUFX_OK);
    assert_true(memory_of(f).mapped_bytes == N_BYTES);
    ggufx_file_destroy(f);
    drop_cache();
}

static void test_without_huge_pages_the_file_is_mapped_with_one_warning(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    if (!has_huge_pages()) skip();
#ifdef __linux__
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) skip();
    OK(open_with(&f, GGUFX_OPEN_HUGE_PAGES, NULL));
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
#endif
    assert_true(memory_of(f).mapped_bytes == N_BYTES && is_whole(f));
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(logged, "no copy of the weights in huge pages: the system gives none"));
    ggufx_file_destroy(f);
}

static void test_without_memory_the_file_is_mapped(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    OK(open_with(&f, 0, NULL));
    fault_reset(&memory);
    ggufx_file_destroy(f);
    OK(open_with(&f, 0, NULL)); /* counts the allocations before the copy */
    ggufx_file_destroy(f);
    const long live = memory.live;
    int n_mapped = 0;
    for (long at = 1, n = memory.calls + 2; at <= n; at++) {
        fault_reset(&memory);
        memory.fail_at = at;
        const ggufx_status status = open_with(&f, GGUFX_OPEN_HUGE_PAGES, NULL);
        memory.fail_at = 0;
        if (status != GGUFX_OK) {
            assert_int_equal(status, GGUFX_E_MEMORY);
        } else {
            n_mapped += n_logged == 1 && strstr(logged, "no memory left") != NULL;
            assert_true(is_whole(f));
            ggufx_file_destroy(f);
        }
        assert_int_equal(memory.live, live);
    }
    assert_int_equal(n_mapped, 1);
}

/* Changes the world when a part of the copy is done. */
typedef enum change { CANCEL, TRUNCATE, NO_HUGE_PAGES } change;

static int32_t on_progress(void *user, uint64_t done, uint64_t total) {
    if (total == 0 || done == 0 || done == total) return 0;
    switch (*(const change *)user) {
    case CANCEL:
        return 1;
    case TRUNCATE:
        assert_int_equal(truncate(path, 3 * MIB), 0);
        return 0;
    case NO_HUGE_PAGES:
#ifdef __linux__
        (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
        return 0;
    }
    return 0;
}

static ggufx_status open_changed(ggufx_file **out, change what) {
    const ggufx_progress progress = {.user = &what, .report = on_progress};
    return open_with(out, GGUFX_OPEN_HUGE_PAGES, &progress);
}

static void test_a_copy_can_be_cancelled(void **state) {
    const long live = memory.live;
    ggufx_file *f = NULL;
    (void)state;
    if (!has_huge_pages()) skip();
    assert_int_equal(open_changed(&f, CANCEL), GGUFX_E_CANCELLED);
    assert_null(f);
    assert_int_equal(memory.live, live);
}

static void test_a_file_that_shrinks_while_it_is_copied_is_truncated(void **state) {
    const long live = memory.live;
    ggufx_file *f = NULL;
    (void)state;
    if (!has_huge_pages()) skip();
    assert_int_equal(open_changed(&f, TRUNCATE), GGUFX_E_TRUNCATED);
    assert_non_null(strstr(ok_error()->message, "the file became shorter while it was read"));
    assert_null(f);
    assert_int_equal(memory.live, live);
    write_file();
}

static void test_a_copy_may_have_huge_pages_in_part(void **state) {
    ggufx_file *f = NULL;
    (void)state;
    if (!has_huge_pages()) skip();
    OK(open_changed(&f, NO_HUGE_PAGES));
#ifdef __linux__
    assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
#endif
    const ggufx_file_memory_facts m = memory_of(f);
    assert_true(m.copied_bytes == N_BYTES && m.resident_bytes == N_BYTES);
    assert_true(m.huge_bytes > 0 && m.huge_bytes < N_BYTES);
    assert_true(is_whole(f));
    ggufx_file_destroy(f);
}

/* Returns the proportional set size of the mapping at `data`; 0 if the kernel does not say. */
static uint64_t pss_of(const void *data) {
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long begin = 0, end = 0, kib = 0, found = 0;
    int is_here = 0;
    while (smaps && fgets(line, sizeof line, smaps)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            is_here = (uintptr_t)data >= begin && (uintptr_t)data < end;
        if (is_here && sscanf(line, "Pss: %lu kB", &kib) == 1) found = kib;
    }
    if (smaps) fclose(smaps);
    return (uint64_t)found << 10;
}

static void test_processes_share_a_mapping(void **state) {
    enum { N = 20 };
    int ready[2], go[2], told[2], end[2];
    ggufx_file *f = NULL;
    (void)state;
    OK(open_with(&f, 0, NULL));
    const void *data = ggufx_tensor_data(ggufx_file_tensor(f, 0));
    if (pss_of(data) == 0) skip(); /* the header was read: the kernel says nothing */
    assert_true(pipe(ready) == 0 && pipe(go) == 0 && pipe(told) == 0 && pipe(end) == 0);
    for (int i = 0; i < N; i++) {
        if (fork() != 0) continue;
        char c = (char)is_whole(f);
        (void)!write(ready[1], &c, 1);
        (void)!read(go[0], &c, 1); /* all have touched the pages */
        const uint64_t pss = pss_of(data);
        (void)!write(told[1], &pss, sizeof pss);
        (void)!read(end[0], &c, 1); /* all have counted */
        _exit(0);
    }
    char c = 0, all[N] = {0};
    uint64_t sum = 0, pss = 0;
    for (int i = 0; i < N; i++) assert_true(read(ready[0], &c, 1) == 1 && c == 1);
    assert_int_equal(write(go[1], all, N), N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(read(told[0], &pss, sizeof pss), sizeof pss);
        sum += pss;
    }
    assert_int_equal(write(end[1], all, N), N);
    for (int i = 0; i < N; i++) wait(NULL);
    for (int i = 0; i < 2; i++) close(ready[i]), close(go[i]), close(told[i]), close(end[i]);
    assert_true(sum > N_BYTES / 2 && sum < N_BYTES + 4 * MIB);
    ggufx_file_destroy(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mapping_takes_no_memory_of_its_own),
        cmocka_unit_test(test_a_mapping_has_huge_pages_if_the_cache_is_empty),
        cmocka_unit_test(test_small_pages_are_read_again_on_request),
        cmocka_unit_test(test_a_copy_has_the_file_once),
        cmocka_unit_test(test_auto_copies_small_pages_only),
        cmocka_unit_test(test_auto_obeys_a_limit_of_the_process),
        cmocka_unit_test(test_without_huge_pages_the_file_is_mapped_with_one_warning),
        cmocka_unit_test(test_without_memory_the_file_is_mapped),
        cmocka_unit_test(test_a_copy_can_be_cancelled),
        cmocka_unit_test(test_a_file_that_shrinks_while_it_is_copied_is_truncated),
        cmocka_unit_test(test_a_copy_may_have_huge_pages_in_part),
        cmocka_unit_test(test_processes_share_a_mapping),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
