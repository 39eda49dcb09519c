/*
 * The first bytes of a file, as during a download. Metadata-only opens work from the end of the
 * directory, and missing bytes are reported.
 * SPDX-License-Identifier: MIT
 */
#include "file_fixture.h"
#include "ok.h"

#include <stdlib.h>
#include <string.h>

static ggufx_status open_head(ggufx_file **f, const unsigned char *data, size_t n, uint32_t flags,
                              int32_t io, ggufx_error *error) {
    ggufx_open_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.io = io;
    return ggufx_open_memory(f, rt, data, n, NULL, NULL, &o, error);
}

static ggufx_file_facts facts_of(const ggufx_file *f) {
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_file_info(&facts, f, ok_error()));
    return facts;
}

static int32_t keep(void *user, const ggufx_finding_facts *finding) {
    if (finding->severity == GGUFX_LOG_ERROR) *(ggufx_finding_facts *)user = *finding;
    return 0;
}

/* Checks the first n bytes: the directory is complete, data_end - n bytes of the data are
 * missing. */
static void check_head(const gb *b, size_t n, uint64_t data_end, int32_t io) {
    const uint64_t missing = n < data_end ? data_end - n : 0;
    unsigned char *exact = malloc(n); /* ASan detects reads past the end */
    ggufx_file *f = NULL;
    ggufx_finding_facts finding = {0};
    ggufx_error error;
    size_t index;
    memcpy(exact, b->data, n);
    if (open_head(&f, exact, n, GGUFX_OPEN_METADATA_ONLY, io, &error) != GGUFX_OK)
        fail_msg("%zu bytes: %s", n, error.message);
    assert_int_equal(facts_of(f).n_missing, missing);
    assert_int_equal(facts_of(f).file_size, n);
    assert_int_equal(facts_of(f).data_offset, b->data_start);
    assert_int_equal(ggufx_file_tensor_count(f), 3);
    OK(ggufx_file_tensor_find(&index, f, "matrix", 6, ok_error()));
    assert_null(ggufx_tensor_data(ggufx_file_tensor(f, index)));
    OK(ggufx_file_validate(f, 0, keep, &finding, NULL, ok_error()));
    assert_int_equal(finding.status, missing ? GGUFX_E_BOUNDS : GGUFX_OK);
    if (missing) assert_int_equal(finding.offset, n);
    ggufx_file_destroy(f);
    f = NULL;
    assert_int_equal(open_head(&f, exact, n, 0, io, &error), missing ? GGUFX_E_BOUNDS : GGUFX_OK);
    ggufx_file_destroy(f);
    free(exact);
}

static void test_every_head_with_a_whole_directory_opens(void **state) {
    uint32_t version;
    int32_t io;
    (void)state;
    for (version = 2; version <= 3; version++)
        for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io += 2) {
            gb b;
            ggufx_file *f;
            uint64_t end, data_end;
            size_t n;
            gb_everything(&b, version, version == 2);
            f = open_bytes(&b, 0);
            end = facts_of(f).meta_end;
            assert_true(end < b.data_start); /* padding between them */
            data_end = b.n - 30;             /* the last tensor has two bytes of its 32 */
            assert_int_equal(facts_of(f).n_missing, 0);
            ggufx_file_destroy(f);
            for (n = (size_t)end; n <= b.n; n++) check_head(&b, n, data_end, io);
            gb_free(&b);
        }
}

static void test_a_head_without_its_whole_directory_is_refused(void **state) {
    gb b;
    ggufx_file *f;
    size_t n, end;
    (void)state;
    gb_everything(&b, 3, 0);
    f = open_bytes(&b, 0);
    end = (size_t)facts_of(f).meta_end;
    ggufx_file_destroy(f);
    for (n = end - 40; n < end; n++) {
        ggufx_error error;
        f = NULL;
        assert_int_equal(open_head(&f, b.data, n, GGUFX_OPEN_METADATA_ONLY, 0, &error),
                         GGUFX_E_TRUNCATED);
    }
    gb_free(&b);
}

/* The sizes in a header are accepted unless they overflow. */
static void test_sizes_that_overflow_stay_refused(void **state) {
    const uint64_t ne[1] = {UINT64_C(1) << 60}, small[1] = {32};
    gb b;
    ggufx_file *f = NULL;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "large", GGUFX_TYPE_F32, 1, ne, 0); /* 2^62 bytes */
    gb_data(&b);
    assert_int_equal(open_head(&f, b.data, b.n, GGUFX_OPEN_METADATA_ONLY, 0, NULL), GGUFX_OK);
    assert_int_equal(facts_of(f).n_missing, UINT64_C(1) << 62);
    ggufx_file_destroy(f);
    gb_free(&b);
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "large", GGUFX_TYPE_F32, 1, ne, UINT64_C(1) << 62); /* ends after 2^63 - 1 */
    gb_data(&b);
    assert_int_equal(open_head(&f, b.data, b.n, GGUFX_OPEN_METADATA_ONLY, 0, NULL), GGUFX_E_BOUNDS);
    gb_free(&b);
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "behind", GGUFX_TYPE_F32, 1, small, UINT64_C(0) - 64); /* wraps */
    gb_data(&b);
    assert_int_equal(open_head(&f, b.data, b.n, GGUFX_OPEN_METADATA_ONLY, 0, NULL), GGUFX_E_BOUNDS);
    gb_free(&b);
}

/* Callers whose facts struct lacks the last field still get the others. */
static void test_shorter_facts_are_filled(void **state) {
    gb b;
    ggufx_file *f;
    ggufx_file_facts facts;
    (void)state;
    gb_minimal(&b);
    f = open_bytes(&b, 0);
    memset(&facts, 0x5a, sizeof facts);
    facts.struct_size = offsetof(ggufx_file_facts, n_missing);
    OK(ggufx_file_info(&facts, f, ok_error()));
    assert_int_equal(facts.n_bytes, 128);
    assert_int_equal(facts.n_missing, UINT64_C(0x5a5a5a5a5a5a5a5a));
    ggufx_file_destroy(f);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_head_with_a_whole_directory_opens),
        cmocka_unit_test(test_a_head_without_its_whole_directory_is_refused),
        cmocka_unit_test(test_sizes_that_overflow_stay_refused),
        cmocka_unit_test(test_shorter_facts_are_filled),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
