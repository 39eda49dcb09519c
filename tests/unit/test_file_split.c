/*
 * Split files opened from each of their names, and their possible contradictions.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "gguf_builder.h"
#include "ok.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "ggufx-split-XXXXXX";
static ggufx_runtime *rt;
static int warnings;

static void warn(void *user, int32_t level, const char *text, size_t length) {
    (void)user, (void)length;
    if (level == GGUFX_LOG_WARNING && strstr(text, "split")) warnings++;
}

static int setup(void **state) {
    static ggufx_log log = {.struct_size = sizeof log, .write = warn};
    ggufx_runtime_options o = {.struct_size = sizeof o};
    (void)state;
    o.log = &log;
    if (!mkdtemp(folder)) return -1;
    return ggufx_runtime_create(&rt, &o, NULL) == GGUFX_OK ? 0 : -1;
}

static char *name_of(char *out, int part, int count) {
    sprintf(out, "%s/m-%05d-of-%05d.gguf", folder, part, count);
    return out;
}

static int teardown(void **state) {
    char name[300];
    int i;
    (void)state;
    for (i = 1; i <= 4; i++) remove(name_of(name, i, 3));
    ggufx_runtime_destroy(rt);
    return rmdir(folder);
}

/* Faults of split files; all zero = none. */
typedef struct fault_of {
    int no, count, total; /* added to the stated numbers of the second part (total: the first) */
    const char *name;     /* name of the second part's tensor, instead of its own */
    int skip_keys;        /* the second part has no split keys */
    int wide;             /* keys as u64 instead of u16 and i32 */
    int count_is_string;  /* in the second part */
    int with_id,
        other_id; /* bits of the parts with the common id, and of the parts with another id */
} fault_of;

static void write_part(int part, const fault_of *w) {
    const uint64_t ne[1] = {8};
    const int second = part == 2;
    const uint32_t no = (uint32_t)(part - 1 + (second ? w->no : 0));
    const uint32_t count = (uint32_t)(3 + (second ? w->count : 0));
    const uint32_t total = (uint32_t)(2 + (part == 1 ? w->total : 0));
    char name[300];
    gb b;
    int i;
    gb_begin(&b, 3, 0);
    if (part == 1) gb_key_string(&b, "general.architecture", "test");
    if (!(second && w->skip_keys)) {
        gb_key(&b, "split.no", w->wide ? GGUFX_VALUE_U64 : GGUFX_VALUE_U16);
        w->wide ? gb_u64(&b, no) : gb_u16(&b, no);
        if (second && w->count_is_string) {
            gb_key_string(&b, "split.count", "3");
        } else {
            gb_key(&b, "split.count", w->wide ? GGUFX_VALUE_U64 : GGUFX_VALUE_U16);
            w->wide ? gb_u64(&b, count) : gb_u16(&b, count);
        }
        gb_key(&b, "split.tensors.count", w->wide ? GGUFX_VALUE_U64 : GGUFX_VALUE_I32);
        w->wide ? gb_u64(&b, total) : gb_u32(&b, total);
    }
    if (w->with_id >> part & 1) {
        gb_key(&b, "ggufx.split.id", GGUFX_VALUE_U64);
        gb_u64(&b, w->other_id >> part & 1 ? 8 : 7);
    }
    if (part > 1) { /* the first part holds metadata only */
        sprintf(name, "t%d", part);
        gb_tensor(&b, second && w->name ? w->name : name, GGUFX_TYPE_F32, 1, ne, 32);
    }
    gb_data(&b);
    if (part > 1)
        for (i = 0; i < 8; i++) gb_f32(&b, (float)(10 * part + i));
    if (gb_write(&b, name_of(name, part, 3))) fail();
    gb_free(&b);
}

static void write_set(const fault_of *w) {
    int i;
    for (i = 1; i <= 3; i++) write_part(i, w);
}

static void check_set(const ggufx_file *f) {
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    size_t index = 0;
    int part;
    OK(ggufx_file_info(&facts, f, ok_error()));
    assert_int_equal(facts.n_parts, 3);
    assert_int_equal(facts.n_tensors, 2);
    assert_int_equal(facts.n_meta, 4);
    OK(ggufx_file_meta_find(&index, f, "general.architecture", 20, ok_error()));
    for (part = 2; part <= 3; part++) {
        char name[8];
        float x[8];
        ggufx_tensor_facts t = {.struct_size = sizeof t};
        sprintf(name, "t%d", part);
        OK(ggufx_file_tensor_find(&index, f, name, 2, ok_error()));
        assert_int_equal(index, part - 2);
        OK(ggufx_tensor_info(&t, ggufx_file_tensor(f, index), ok_error()));
        assert_int_equal(t.part, part - 1);
        OK(ggufx_dequantize(x, 8, rt, ggufx_file_tensor(f, index), 0, 1, ok_error()));
        assert_true(x[3] == (float)(10 * part + 3));
    }
}

static void test_a_set_opens_from_each_of_its_names(void **state) {
    fault_of w = {0};
    int part;
    (void)state;
    for (w.wide = 0; w.wide < 2; w.wide++) {
        write_set(&w);
        for (part = 1; part <= 3; part++) {
            char name[300];
            ggufx_error error;
            ggufx_file *f = NULL;
            if (ggufx_open(&f, rt, name_of(name, part, 3), NULL, &error) != GGUFX_OK)
                fail_msg("%s", error.message);
            check_set(f);
            ggufx_file_destroy(f);
        }
    }
    assert_int_equal(warnings, 0);
}

static void expect(const fault_of *w, ggufx_status status, const char *word) {
    int part;
    write_set(w);
    for (part = 1; part <= 3; part++) {
        char name[300];
        ggufx_error error;
        ggufx_file *f = NULL;
        const ggufx_status got = ggufx_open(&f, rt, name_of(name, part, 3), NULL, &error);
        if (part == 2 && w->skip_keys) { /* a file that only has a part's name */
            assert_int_equal(got, GGUFX_OK);
            assert_int_equal(ggufx_file_tensor_count(f), 1);
            ggufx_file_destroy(f);
            continue;
        }
        if (got != status) fail_msg("part %d: %s: %s", part, ggufx_status_name(got), error.message);
        assert_null(f);
        if (!strstr(error.message, word)) fail_msg("\"%s\" lacks \"%s\"", error.message, word);
    }
}

static void test_sets_that_disagree_are_refused(void **state) {
    (void)state;
    expect(&(fault_of){.no = 1}, GGUFX_E_SPLIT, "split.no");
    expect(&(fault_of){.count = 1}, GGUFX_E_SPLIT, "split.count");
    expect(&(fault_of){.total = 1}, GGUFX_E_SPLIT, "split.tensors.count");
    expect(&(fault_of){.name = "t3"}, GGUFX_E_DUPLICATE, "t3");
    expect(&(fault_of){.skip_keys = 1}, GGUFX_E_SPLIT, "split.no");
    expect(&(fault_of){.count_is_string = 1}, GGUFX_E_SPLIT, "split.count");
}

/* Programs that ignore the id copy it with the other keys, which are in the first part. */
static void test_parts_of_sets_with_other_ids_are_refused(void **state) {
    char name[300];
    ggufx_file *f = NULL;
    (void)state;
    expect(&(fault_of){.with_id = 2 | 4 | 8, .other_id = 8}, GGUFX_E_SPLIT, "ggufx.split.id");
    expect(&(fault_of){.with_id = 2 | 4}, GGUFX_E_SPLIT, "1 of 3 parts have no ggufx.split.id");
    expect(&(fault_of){.with_id = 8}, GGUFX_E_SPLIT, "2 of 3 parts have no ggufx.split.id");
    for (int all = 0; all < 2; all++) {
        write_set(&(fault_of){.with_id = all ? 2 | 4 | 8 : 2});
        warnings = 0;
        OK(ggufx_open(&f, rt, name_of(name, 1, 3), NULL, ok_error()));
        assert_int_equal(ggufx_file_tensor_count(f), 2);
        assert_int_equal(warnings, !all);
        ggufx_file_destroy(f);
    }
}

static void test_a_missing_part_is_named(void **state) {
    char name[300], third[300];
    ggufx_error error;
    ggufx_file *f = NULL;
    (void)state;
    write_set(&(fault_of){0});
    remove(name_of(third, 3, 3));
    assert_int_equal(ggufx_open(&f, rt, name_of(name, 2, 3), NULL, &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "m-00003-of-00003.gguf"));
    assert_null(f);
}

static void test_one_part_opens_alone_on_request(void **state) {
    char name[300];
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_file *f = NULL;
    (void)state;
    write_set(&(fault_of){0});
    o.flags = GGUFX_OPEN_SINGLE;
    warnings = 0;
    OK(ggufx_open(&f, rt, name_of(name, 2, 3), &o, ok_error()));
    assert_int_equal(ggufx_file_tensor_count(f), 1);
    assert_int_equal(ggufx_file_meta_count(f), 3);
    assert_int_equal(warnings, 0);
    ggufx_file_destroy(f);
}

static void test_a_renamed_part_opens_with_a_warning(void **state) {
    char name[300], other[300];
    ggufx_file *f = NULL;
    (void)state;
    write_set(&(fault_of){0});
    sprintf(other, "%s/renamed.gguf", folder);
    assert_int_equal(rename(name_of(name, 2, 3), other), 0);
    warnings = 0;
    OK(ggufx_open(&f, rt, other, NULL, ok_error()));
    assert_int_equal(ggufx_file_tensor_count(f), 1);
    assert_int_equal(warnings, 1);
    ggufx_file_destroy(f);
    remove(other);
}

/* Parts are numbered from 1 to their count: a name with another number is an ordinary name. */
static void test_a_number_that_no_part_has_is_no_part(void **state) {
    static const int numbers[] = {0, 4};
    char name[300], other[300];
    (void)state;
    for (int i = 0; i < 2; i++) {
        ggufx_file *f = NULL;
        write_set(&(fault_of){0});
        assert_int_equal(rename(name_of(name, 2, 3), name_of(other, numbers[i], 3)), 0);
        warnings = 0;
        OK(ggufx_open(&f, rt, other, NULL, ok_error()));
        assert_int_equal(ggufx_file_tensor_count(f), 1);
        assert_int_equal(warnings, 1);
        ggufx_file_destroy(f);
        remove(other);
    }
}

static ggufx_status open_set(void *context, ggufx_runtime *own, ggufx_error *error) {
    char name[300];
    ggufx_file *f = NULL;
    const ggufx_status status = ggufx_open(&f, own, name_of(name, 2, 3), NULL, error);
    (void)context;
    ggufx_file_destroy(f);
    return status;
}

static void test_opening_a_set_survives_each_failing_allocation(void **state) {
    (void)state;
    write_set(&(fault_of){0});
    assert_true(fault_run(open_set, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_opens_from_each_of_its_names),
        cmocka_unit_test(test_sets_that_disagree_are_refused),
        cmocka_unit_test(test_parts_of_sets_with_other_ids_are_refused),
        cmocka_unit_test(test_a_missing_part_is_named),
        cmocka_unit_test(test_one_part_opens_alone_on_request),
        cmocka_unit_test(test_a_renamed_part_opens_with_a_warning),
        cmocka_unit_test(test_a_number_that_no_part_has_is_no_part),
        cmocka_unit_test(test_opening_a_set_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
