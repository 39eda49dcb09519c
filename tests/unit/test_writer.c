/*
 * Written files equal the bytes of an independent builder, in both byte orders and versions, from
 * calls and from files; changed keys, alignment, reserved space.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "writer_fixture.h"

#include <stdio.h>

static void test_every_value_type_is_written_as_the_format_says(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++)
        for (int big = 0; big < 2; big++) {
            ggufx_writer *w = new_writer(rt, version, big);
            ggufx_writer_facts facts = {.struct_size = sizeof facts};
            gb want;
            kept first, second;
            gb_everything(&want, version, big);
            OK(fill_everything(w, rt, NULL));
            OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
            write_kept(w, &first, NULL);
            assert_bytes(&first.part[0], want.data, want.n);
            assert_int_equal(facts.n_bytes, want.n);
            assert_int_equal(facts.n_meta, want.n_keys);
            assert_int_equal(facts.n_tensors, 3);
            assert_int_equal(facts.n_parts, 1);
            write_kept(w, &second, NULL); /* a writer can write again */
            assert_bytes(&second.part[0], want.data, want.n);
            ggufx_writer_destroy(w);
            kept_free(&first);
            kept_free(&second);
            gb_free(&want);
        }
}

/* Version 1 has 32-bit counts; bytes of copied files change only in order and width. */
static void test_files_are_copied_between_versions_and_byte_orders(void **state) {
    (void)state;
    for (int from = 0; from < 6; from++)
        for (int to = 0; to < 4; to++) {
            gb source, want;
            kept k;
            gb_everything(&source, 1 + (uint32_t)from / 2, from % 2);
            gb_everything(&want, 2 + (uint32_t)to / 2, to % 2);
            ggufx_file *f = open_bytes(&source, GGUFX_OPEN_LEGACY_V1);
            ggufx_writer *w = new_writer(rt, 2 + (uint32_t)to / 2, to % 2);
            OK(ggufx_writer_copy_meta(w, f, ok_error()));
            OK(ggufx_writer_copy_tensors(w, f, ok_error()));
            ggufx_file_destroy(f); /* the writer keeps its references */
            write_kept(w, &k, NULL);
            assert_bytes(&k.part[0], want.data, want.n);
            ggufx_writer_destroy(w);
            kept_free(&k);
            gb_free(&source);
            gb_free(&want);
        }
}

static void test_keys_keep_their_place_when_set_again_renamed_or_removed(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    gb want;
    kept k;
    OK(ggufx_writer_set_u64(w, S("a"), GGUFX_VALUE_U32, 1, ok_error()));
    OK(ggufx_writer_set_u64(w, S("z"), GGUFX_VALUE_U32, 2, ok_error()));
    OK(ggufx_writer_set_u64(w, S("b"), GGUFX_VALUE_U32, 3, ok_error()));
    OK(ggufx_writer_set_u64(w, S("c"), GGUFX_VALUE_U32, 4, ok_error()));
    OK(ggufx_writer_unset(w, S("z"), ok_error()));
    OK(ggufx_writer_rename(w, S("a"), S("y"), ok_error()));
    OK(ggufx_writer_rename(w, S("c"), S("c"), ok_error())); /* no effect */
    OK(ggufx_writer_set_string(w, S("b"), S("text"), ok_error()));
    OK(ggufx_writer_set_u64(w, S("a"), GGUFX_VALUE_U32, 5, ok_error()));
    OK(ggufx_writer_rename(w, S("y"), S("x"), ok_error()));
    gb_begin(&want, 3, 0);
    gb_key_u32(&want, "x", 1);
    gb_key_string(&want, "b", "text");
    gb_key_u32(&want, "c", 4);
    gb_key_u32(&want, "a", 5);
    gb_data(&want);
    write_kept(w, &k, NULL);
    assert_bytes(&k.part[0], want.data, want.n);
    kept_free(&k);
    gb_free(&want);
    ggufx_writer_destroy(w);
}

static void test_general_alignment_lays_out_the_file(void **state) {
    (void)state;
    static const uint8_t data[3] = {1, 2, 3};
    for (uint32_t alignment = 1; alignment <= 4096; alignment *= 4) {
        const uint64_t ne[1] = {3};
        ggufx_writer *w = new_writer(rt, 0, 0);
        ggufx_tensor *t = wrap(GGUFX_TYPE_I8, 1, 3, 1, data, 3);
        gb want;
        kept k;
        OK(ggufx_writer_add_tensor(w, t, S("one"), ok_error()));
        OK(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, alignment, ok_error()));
        OK(ggufx_writer_add_tensor(w, t, S("two"), ok_error()));
        ggufx_tensor_destroy(t);
        gb_begin(&want, 3, 0);
        want.alignment = alignment;
        gb_key_u32(&want, "general.alignment", alignment);
        gb_tensor(&want, "one", GGUFX_TYPE_I8, 1, ne, 3);
        gb_tensor(&want, "two", GGUFX_TYPE_I8, 1, ne, 3);
        gb_data(&want);
        gb_tensor_data(&want, data, 3);
        gb_tensor_data(&want, data, 3);
        write_kept(w, &k, NULL);
        assert_bytes(&k.part[0], want.data, want.n);
        ggufx_file_destroy(open_bytes(&k.part[0], GGUFX_OPEN_STRICT));
        kept_free(&k);
        gb_free(&want);
        ggufx_writer_destroy(w);
    }
}

static void test_reserve_is_an_array_of_zeros_after_the_keys(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        ggufx_writer *w = NULL;
        ggufx_writer_options options = {.struct_size = sizeof options};
        ggufx_writer_facts facts = {.struct_size = sizeof facts};
        ggufx_meta_facts entry = {.struct_size = sizeof entry};
        kept k;
        uint64_t v[2000];
        options.reserve_bytes = 2000;
        OK(ggufx_writer_create(&w, rt, &options, ok_error()));
        /* An existing one is replaced. */
        if (round) OK(ggufx_writer_set_u64(w, S("ggufx.reserve"), GGUFX_VALUE_U8, 1, ok_error()));
        OK(ggufx_writer_set_u64(w, S("a"), GGUFX_VALUE_U32, 1, ok_error()));
        OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
        write_kept(w, &k, NULL);
        assert_int_equal(facts.n_bytes, k.part[0].n);
        ggufx_file *f = open_bytes(&k.part[0], GGUFX_OPEN_STRICT);
        assert_int_equal(ggufx_file_meta_count(f), 2);
        OK(ggufx_file_meta_at(&entry, f, 1, ok_error()));
        assert_int_equal(entry.key.size, 13);
        assert_memory_equal(entry.key.data, "ggufx.reserve", 13);
        assert_int_equal(entry.element_type, GGUFX_VALUE_U8);
        assert_int_equal(entry.count, 2000);
        OK(ggufx_file_meta_array_u64(v, f, 1, 0, 2000, ok_error()));
        for (int i = 0; i < 2000; i++) assert_int_equal(v[i], 0);
        ggufx_file_destroy(f);
        kept_free(&k);
        ggufx_writer_destroy(w);
    }
}

/* Sets and unsets keys with names that were never there before; 20 others stay. */
static void set_and_unset(ggufx_writer *w, int first, int n) {
    char name[32];
    for (int i = first; i < first + n; i++) {
        const size_t length = (size_t)snprintf(name, sizeof name, "new.%d", i);
        OK(ggufx_writer_set_u64(w, name, length, GGUFX_VALUE_U32, 7, ok_error()));
        if (i % 3 == 0) {
            const size_t longer = length + 1;
            char other[40];
            snprintf(other, sizeof other, "%sx", name);
            OK(ggufx_writer_rename(w, name, length, other, longer, ok_error()));
            OK(ggufx_writer_unset(w, other, longer, ok_error()));
        } else {
            OK(ggufx_writer_unset(w, name, length, ok_error()));
        }
    }
}

static void test_keys_that_come_and_go_take_no_memory(void **state) {
    fault memory;
    ggufx_writer *w = NULL;
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    char name[32];
    (void)state;
    fault_init(&memory);
    ggufx_runtime *own = fault_runtime(&memory, 1);
    OK(ggufx_writer_create(&w, own, NULL, ok_error()));
    for (int i = 0; i < 20; i++)
        OK(ggufx_writer_set_u64(w, name, (size_t)snprintf(name, sizeof name, "old.%d", i),
                                GGUFX_VALUE_U32, 7, ok_error()));
    set_and_unset(w, 0, 1000);
    const long long before = memory.live_bytes;
    set_and_unset(w, 1000, 50000);
    assert_int_equal(memory.live_bytes, before);
    OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
    assert_int_equal(facts.n_meta, 20);
    ggufx_writer_destroy(w);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_type_is_written_as_the_format_says),
        cmocka_unit_test(test_files_are_copied_between_versions_and_byte_orders),
        cmocka_unit_test(test_keys_keep_their_place_when_set_again_renamed_or_removed),
        cmocka_unit_test(test_general_alignment_lays_out_the_file),
        cmocka_unit_test(test_reserve_is_an_array_of_zeros_after_the_keys),
        cmocka_unit_test(test_keys_that_come_and_go_take_no_memory),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
