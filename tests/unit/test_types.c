/*
 * Tensor types: ids, names, row bytes.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ggufx/ggufx.h>

static void test_error_is_untouched_on_success(void **state) {
    (void)state;
    ggufx_error error, before;
    memset(&error, 0x5a, sizeof error);
    before = error;
    uint64_t bytes = 0;
    assert_int_equal(ggufx_type_row_bytes(&bytes, GGUFX_TYPE_Q4_K, 512, &error), GGUFX_OK);
    assert_int_equal(bytes, 288);
    assert_memory_equal(&error, &before, sizeof error);
}

static void test_types_are_found_by_id_and_name(void **state) {
    (void)state;
    ggufx_error error;
    uint32_t id;
    int live = 0, removed = 0;
    for (id = 0; id < 64; id++) {
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        const ggufx_status status = ggufx_type_info(&facts, id, &error);
        if (status == GGUFX_OK) {
            uint32_t found = 99;
            assert_int_equal(facts.id, id);
            assert_int_equal(ggufx_type_find(&found, facts.name, &error), GGUFX_OK);
            assert_int_equal(found, id);
            live++;
        } else {
            assert_int_equal(status, GGUFX_E_TYPE);
            removed += strstr(error.message, "removed") != NULL;
        }
    }
    assert_int_equal(live, 35);
    assert_int_equal(removed, 8);
    assert_int_equal(ggufx_type_find(&id, "q4_j", &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "q4_"));
    assert_int_equal(ggufx_type_find(NULL, "q4_0", &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_type_find(&id, NULL, &error), GGUFX_E_ARGUMENT);
}

static void test_row_bytes_refuses_broken_rows(void **state) {
    (void)state;
    uint64_t bytes = 1;
    ggufx_error error;
    assert_int_equal(ggufx_type_row_bytes(&bytes, GGUFX_TYPE_Q4_K, 255, &error), GGUFX_E_SHAPE);
    assert_int_equal(ggufx_type_row_bytes(&bytes, GGUFX_TYPE_F64, UINT64_MAX, &error),
                     GGUFX_E_OVERFLOW);
    assert_int_equal(ggufx_type_row_bytes(&bytes, 5, 32, &error), GGUFX_E_TYPE);
    assert_int_equal(ggufx_type_row_bytes(NULL, 0, 32, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_type_row_bytes(&bytes, GGUFX_TYPE_F32, 0, &error), GGUFX_OK);
    assert_int_equal(bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_is_untouched_on_success),
        cmocka_unit_test(test_types_are_found_by_id_and_name),
        cmocka_unit_test(test_row_bytes_refuses_broken_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
