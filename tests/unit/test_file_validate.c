/*
 * ggufx_file_validate: findings in files that an open accepts, and the deep check of the data.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "file_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct found {
    int errors, warnings, remarks, stop_after;
    ggufx_finding_facts last_error;
    char text[400];
} found;

static int32_t note(void *user, const ggufx_finding_facts *finding) {
    found *f = user;
    assert_int_equal(finding->struct_size, sizeof *finding);
    if (finding->severity == GGUFX_LOG_ERROR) {
        f->errors++;
        f->last_error = *finding;
        snprintf(f->text, sizeof f->text, "%s", finding->text);
    }
    f->warnings += finding->severity == GGUFX_LOG_WARNING;
    f->remarks += finding->severity == GGUFX_LOG_INFO;
    const int n = f->errors + f->warnings + f->remarks;
    return f->stop_after && n >= f->stop_after ? GGUFX_E_STATE : GGUFX_OK;
}

static found validate(const gb *b, uint32_t flags) {
    ggufx_file *f = NULL;
    ggufx_error error;
    found out;
    ggufx_open_options o = {.struct_size = sizeof o};
    memset(&out, 0, sizeof out);
    o.flags = GGUFX_OPEN_LEGACY_V1;
    if (ggufx_open_memory(&f, rt, b->data, b->n, NULL, NULL, &o, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    if (ggufx_file_validate(f, flags, note, &out, NULL, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    ggufx_file_destroy(f);
    return out;
}

static void test_a_clean_file_has_no_findings(void **state) {
    gb b;
    found r;
    (void)state;
    gb_minimal(&b);
    r = validate(&b, GGUFX_VALIDATE_DEEP | GGUFX_VALIDATE_STRICT);
    assert_int_equal(r.errors + r.warnings + r.remarks, 0);
    gb_free(&b);
}

static void test_strict_reports_what_ggml_refuses(void **state) {
    const uint64_t ne[1] = {8};
    gb b;
    found r;
    (void)state;
    gb_everything(&b, 3, 0); /* has an array of arrays */
    assert_int_equal(validate(&b, 0).errors, 0);
    r = validate(&b, GGUFX_VALIDATE_STRICT);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.last_error.status, GGUFX_E_VALUE_TYPE);
    gb_free(&b);
    gb_begin(&b, 3, 0);
    gb_tensor_at(&b, "a", 0, 1, ne, 64);
    gb_data(&b);
    gb_bytes(&b, (unsigned char[96]){0}, 96);
    assert_int_equal(validate(&b, 0).errors, 0);
    r = validate(&b, GGUFX_VALIDATE_STRICT);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.last_error.status, GGUFX_E_OFFSET);
    assert_memory_equal(r.last_error.name.data, "a", 1);
    gb_free(&b);
    gb_begin(&b, 1, 0);
    gb_data(&b);
    assert_int_equal(validate(&b, GGUFX_VALIDATE_STRICT).last_error.status, GGUFX_E_VERSION);
    gb_free(&b);
}

static void test_odd_metadata_gets_warnings(void **state) {
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "test");
    gb_key(&b, "bad\xff", GGUFX_VALUE_U8), gb_u8(&b, 0);
    gb_key(&b, "two", GGUFX_VALUE_BOOL), gb_u8(&b, 2);
    gb_key_array(&b, "twos", GGUFX_VALUE_BOOL, 3), gb_u8(&b, 1), gb_u8(&b, 3), gb_u8(&b, 4);
    gb_key_u32(&b, "general.alignment", 4);
    gb_data(&b);
    assert_int_equal(validate(&b, 0).warnings, 4);
    gb_free(&b);
}

/* Table 3-7 of the Unicode standard: the first and last sequence of each row, and their neighbours.
 */
static void test_keys_are_utf8_to_the_letter(void **state) {
    static const char *const good[] = {
        "\x7f",         "\xc2\x80",     "\xdf\xbf",     "\xe0\xa0\x80",     "\xe1\x80\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
        "a\xc3\xa4z"};
    static const char *const bad[] = {"\x80",         "\xc1\xbf",         "\xc2",
                                      "\xc2\x7f",     "\xc2\xc0",         "\xe0\x9f\xbf",
                                      "\xed\xa0\x80", "\xef\xbf",         "\xf0\x8f\xbf\xbf",
                                      "\xf1\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                                      "\xff"};
    const size_t n_good = sizeof good / sizeof *good, n_bad = sizeof bad / sizeof *bad;
    size_t i;
    (void)state;
    for (i = 0; i < n_good + n_bad; i++) {
        const char *key = i < n_good ? good[i] : bad[i - n_good];
        gb b;
        int warnings;
        gb_begin(&b, 3, 0);
        gb_key(&b, key, GGUFX_VALUE_U8), gb_u8(&b, 0);
        gb_data(&b);
        warnings = validate(&b, 0).warnings;
        if (warnings != (i >= n_good))
            fail_msg("key %zu (first byte %02x): %d warnings", i, (unsigned char)*key, warnings);
        gb_free(&b);
    }
}

static void test_deep_finds_nan_and_infinity_with_their_position(void **state) {
    const uint64_t ne[2] = {64, 1000};
    gb b;
    found r;
    size_t start;
    unsigned i;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "test");
    gb_tensor(&b, "w", GGUFX_TYPE_F32, 2, ne, 64 * 1000 * 4);
    gb_data(&b);
    start = b.n;
    for (i = 0; i < 64000; i++) gb_f32(&b, (float)i);
    gb_set_u32(&b, start + 4 * 40005, 0x7fc00000u);
    gb_set_u32(&b, start + 4 * 40007, 0xff800000u);
    gb_set_u32(&b, start + 4 * 63999, 0x7f800001u);
    assert_int_equal(validate(&b, 0).errors, 0);
    r = validate(&b, GGUFX_VALIDATE_DEEP);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.last_error.status, GGUFX_E_VALUE);
    assert_int_equal(r.last_error.offset, start + 4 * 40005);
    assert_int_equal(r.last_error.index, 0);
    assert_non_null(strstr(r.text, "2 NaN, 1 infinite"));
    assert_non_null(strstr(r.text, "40005 (row 625)"));
    gb_free(&b);
}

static void test_deep_finds_nan_and_infinity_among_doubles(void **state) {
    const uint64_t ne[1] = {16};
    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        gb b;
        found r;
        size_t start;
        char place[32];
        gb_begin(&b, 3, 0);
        gb_key_string(&b, "general.architecture", "test");
        gb_tensor(&b, "w", GGUFX_TYPE_F64, 1, ne, 16 * 8);
        gb_data(&b);
        start = b.n;
        for (unsigned k = 0; k < 32; k++) gb_f32(&b, 0.0f);
        gb_set_u32(&b, start + 8 * i + 4, i % 2 ? 0xfff00000u : 0x7ff80000u);
        r = validate(&b, GGUFX_VALIDATE_DEEP);
        snprintf(place, sizeof place, "%u (row 0)", i);
        assert_int_equal(r.errors, 1);
        assert_int_equal(r.last_error.offset, start + 8 * i);
        assert_non_null(strstr(r.text, i % 2 ? "0 NaN, 1 infinite" : "1 NaN, 0 infinite"));
        assert_non_null(strstr(r.text, place));
        gb_free(&b);
    }
}

/* One block per type with an invalid scale: f16 NaN, or the reserved E8M0 byte. */
static void test_deep_finds_broken_scales(void **state) {
    static const struct {
        uint32_t type, values, bytes, scale_at;
    } types[] = {{GGUFX_TYPE_Q8_0, 32, 34, 0},
                 {GGUFX_TYPE_Q4_K, 256, 144, 0},
                 {GGUFX_TYPE_Q6_K, 256, 210, 208},
                 {GGUFX_TYPE_MXFP4, 32, 17, 0}};
    size_t i;
    (void)state;
    for (i = 0; i < 4; i++) {
        const uint64_t ne[2] = {types[i].values, 2};
        gb b;
        found r;
        gb_begin(&b, 3, 0);
        gb_key_string(&b, "general.architecture", "test");
        gb_key_u32(&b, "general.quantization_version", 2);
        gb_tensor(&b, "w", types[i].type, 2, ne, 2 * types[i].bytes);
        gb_data(&b);
        gb_bytes(&b, (unsigned char[512]){0}, 2 * types[i].bytes);
        gb_pad(&b);
        assert_int_equal(validate(&b, GGUFX_VALIDATE_DEEP).errors, 0);
        memset(b.data + b.data_start + types[i].bytes + types[i].scale_at, 0xff,
               types[i].type == GGUFX_TYPE_MXFP4 ? 1 : 2);
        r = validate(&b, GGUFX_VALIDATE_DEEP);
        assert_int_equal(r.errors, 1);
        assert_int_equal(r.last_error.offset, b.data_start + types[i].bytes);
        gb_free(&b);
    }
}

static void test_f64_beyond_f32_is_not_infinite(void **state) {
    const uint64_t ne[1] = {2};
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_tensor(&b, "w", GGUFX_TYPE_F64, 1, ne, 16);
    gb_data(&b);
    gb_f64(&b, 1e300), gb_f64(&b, -1e-300);
    gb_pad(&b);
    assert_int_equal(validate(&b, GGUFX_VALIDATE_DEEP).errors, 0);
    gb_set_u64(&b, b.data_start + 8, UINT64_C(0xfff0000000000000));
    assert_int_equal(validate(&b, GGUFX_VALIDATE_DEEP).errors, 1);
    gb_free(&b);
}

static int32_t poll(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return --*(int *)user == 0;
}

static void test_callbacks_stop_the_check(void **state) {
    gb b;
    ggufx_file *f = NULL;
    ggufx_status status = GGUFX_E_CANCELLED;
    int k;
    found r;
    (void)state;
    gb_everything(&b, 3, 0);
    OK(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, NULL, ok_error()));
    memset(&r, 0, sizeof r);
    r.stop_after = 1;
    assert_int_equal(ggufx_file_validate(f, GGUFX_VALIDATE_STRICT, note, &r, NULL, NULL),
                     GGUFX_E_STATE); /* the status of note() */
    assert_int_equal(r.errors + r.warnings + r.remarks, 1);
    for (k = 1; status != GGUFX_OK; k++) {
        int left = k;
        const ggufx_progress progress = {.user = &left, .report = poll};
        memset(&r, 0, sizeof r);
        status = ggufx_file_validate(f, GGUFX_VALIDATE_DEEP, note, &r, &progress, NULL);
        if (status != GGUFX_OK) assert_int_equal(status, GGUFX_E_CANCELLED);
    }
    assert_true(k > 3);
    assert_int_equal(ggufx_file_validate(f, 64, note, &r, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_validate(f, 0, NULL, NULL, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_validate(NULL, 0, note, &r, NULL, NULL), GGUFX_E_ARGUMENT);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_a_deep_check_needs_the_data(void **state) {
    gb b;
    ggufx_file *f = NULL;
    ggufx_open_options o = {.struct_size = sizeof o};
    found r = {0};
    (void)state;
    gb_minimal(&b);
    o.flags = GGUFX_OPEN_METADATA_ONLY;
    OK(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, ok_error()));
    assert_int_equal(ggufx_file_validate(f, GGUFX_VALIDATE_DEEP, note, &r, NULL, NULL),
                     GGUFX_E_UNSUPPORTED);
    OK(ggufx_file_validate(f, 0, note, &r, NULL, ok_error()));
    ggufx_file_destroy(f);
    gb_free(&b);
}

static ggufx_status validate_all(void *context, ggufx_runtime *own, ggufx_error *error) {
    const gb *b = context;
    ggufx_file *f = NULL;
    found r = {0};
    ggufx_status status = ggufx_open_memory(&f, own, b->data, b->n, NULL, NULL, NULL, error);
    if (status == GGUFX_OK)
        status = ggufx_file_validate(f, GGUFX_VALIDATE_DEEP | GGUFX_VALIDATE_STRICT, note, &r, NULL,
                                     error);
    ggufx_file_destroy(f);
    return status;
}

static void test_validate_survives_each_failing_allocation(void **state) {
    gb b;
    (void)state;
    gb_everything(&b, 3, 0);
    assert_true(fault_run(validate_all, &b) > 5);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_clean_file_has_no_findings),
        cmocka_unit_test(test_strict_reports_what_ggml_refuses),
        cmocka_unit_test(test_odd_metadata_gets_warnings),
        cmocka_unit_test(test_keys_are_utf8_to_the_letter),
        cmocka_unit_test(test_deep_finds_nan_and_infinity_with_their_position),
        cmocka_unit_test(test_deep_finds_nan_and_infinity_among_doubles),
        cmocka_unit_test(test_deep_finds_broken_scales),
        cmocka_unit_test(test_f64_beyond_f32_is_not_infinite),
        cmocka_unit_test(test_callbacks_stop_the_check),
        cmocka_unit_test(test_a_deep_check_needs_the_data),
        cmocka_unit_test(test_validate_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
