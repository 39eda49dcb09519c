/*
 * A text measured in parts: rows, saved logits from any chunk on, the figures of the whole text.
 * SPDX-License-Identifier: MIT
 */
#include "measure_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3 * (CHUNK / 2 - 1) };

typedef struct row_list {
    ggufx_eval_row rows[ROWS];
    size_t n, stop_at;
} row_list;

static int32_t on_rows(void *user, const ggufx_eval_row *rows, size_t n) {
    row_list *list = user;
    assert_true(n > 0 && n <= ROWS - list->n);
    memcpy(list->rows + list->n, rows, n * sizeof *rows);
    list->n += n;
    return list->stop_at && list->n >= list->stop_at ? GGUFX_E_IO : GGUFX_OK;
}

/* Measures n chunks from chunk `first` of the N tokens; adds rows to the list. */
static ggufx_status measure_chunks(fixture *f, row_list *list, saved_file *base, size_t first,
                                   size_t n, ggufx_eval_facts *facts) {
    int32_t tokens[N];
    ggufx_eval_options options = {.struct_size = sizeof options};
    make_tokens(tokens);
    memset(facts, 0, sizeof *facts);
    facts->struct_size = sizeof *facts;
    options.rows = on_rows;
    options.rows_user = list;
    if (base) {
        base->at = 0;
        options.read = read_piece;
        options.read_user = base;
        options.reference_chunk = first;
    }
    return ggufx_eval_perplexity(facts, f->session, tokens + first * CHUNK, n * CHUNK, CHUNK,
                                 TINY_BOS, &options, &f->error);
}

static ggufx_eval_facts total(fixture *f, const row_list *list, uint32_t flags) {
    ggufx_eval_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    MUST(f, ggufx_eval_merge(&facts, f->rt, list->rows, list->n, 3, CHUNK, flags, &f->error));
    return facts;
}

static void check_parts(saved_file *base) {
    const tiny_options other = other_model();
    ggufx_eval_facts whole, part, sum;
    row_list all, parts;
    fixture f;
    memset(&all, 0, sizeof all);
    memset(&parts, 0, sizeof parts);
    begin_rows(&f, &other, 0);
    MUST(&f, measure_chunks(&f, &all, base, 0, 3, &whole));
    assert_int_equal(all.n, ROWS);
    MUST(&f, measure_chunks(&f, &parts, base, 0, 1, &part));
    MUST(&f, measure_chunks(&f, &parts, base, 1, 2, &part));
    assert_int_equal(parts.n, ROWS);
    assert_memory_equal(parts.rows, all.rows, sizeof all.rows);
    sum = total(&f, &parts, whole.flags);
    assert_memory_equal(&sum, &whole, sizeof sum);
    for (size_t i = 0; i < ROWS; i++) {
        const ggufx_eval_row *row = &all.rows[i];
        assert_true(row->loss > 0 && row->token >= 0 && row->token < TINY_VOCAB);
        if (!base)
            assert_true(row->reference_loss == 0 && row->kl_divergence == 0 && row->flags == 0);
    }
    end(&f);
}

static void test_rows_of_parts_make_the_figures_of_the_whole(void **state) {
    saved_file *file = save(0);
    (void)state;
    check_parts(NULL);
    check_parts(file);
    free(file);
}

static void test_rows_can_stop(void **state) {
    ggufx_eval_facts facts;
    row_list list;
    fixture f;
    (void)state;
    memset(&list, 0, sizeof list);
    list.stop_at = CHUNK / 2;
    begin_rows(&f, NULL, 0);
    FAILS(&f, GGUFX_E_IO, "rows callback", measure_chunks(&f, &list, NULL, 0, 3, &facts));
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    assert_int_equal(facts.n_chunks, 0);
    end(&f);
}

static void test_saved_chunks_that_are_passed_over_are_checked(void **state) {
    saved_file *file = save(0);
    ggufx_eval_facts facts;
    ggufx_eval_options options = {.struct_size = sizeof options};
    row_list list;
    fixture f;
    (void)state;
    memset(&list, 0, sizeof list);
    begin_rows(&f, NULL, 0);
    for (size_t at = 60; at < file->n; at += 397) {
        file->bytes[at] ^= 4;
        list.n = 0;
        assert_int_not_equal(measure_chunks(&f, &list, file, 2, 1, &facts), GGUFX_OK);
        file->bytes[at] ^= 4;
    }
    list.n = 0;
    MUST(&f, measure_chunks(&f, &list, file, 2, 1, &facts));
    int32_t tokens[N];
    make_tokens(tokens);
    options.reference_chunk = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "reference_chunk", measure(&f, &facts, CHUNK, TINY_BOS, &options));
    options.read = read_piece;
    options.read_user = file;
    for (uint64_t first = 3; first; first = first == 3 ? UINT64_MAX : 0) {
        file->at = 0;
        options.reference_chunk = first;
        FAILS(&f, GGUFX_E_MISMATCH, "3 chunks were saved",
              measure(&f, &facts, CHUNK, TINY_BOS, &options));
    }
    file->at = 0;
    options.reference_chunk = 1; /* the tokens are those of the first chunk */
    assert_int_equal(measure(&f, &facts, CHUNK, TINY_BOS, &options), GGUFX_E_MISMATCH);
    assert_int_equal(f.error.index, 0);
    end(&f);
    free(file);
}

static void test_each_damaged_bit_of_the_head_of_saved_logits_is_seen(void **state) {
    saved_file *file = save(0);
    ggufx_eval_facts facts;
    row_list list;
    fixture f;
    (void)state;
    memset(&list, 0, sizeof list);
    begin_rows(&f, NULL, 0);
    for (size_t at = 0; at < 60; at++) { /* 52 bytes and their checksum */
        file->bytes[at] ^= 1;
        list.n = 0;
        const ggufx_status status = measure_chunks(&f, &list, file, 0, 1, &facts);
        /* The checksum is verified before the header's numbers are used. Bytes before 12 identify
         * the format and are checked first. */
        if (at >= 12 ? status != GGUFX_E_CHECKSUM || !strstr(f.error.message, "head")
                     : status == GGUFX_OK)
            fail_msg("byte %zu: %s: %s", at, ggufx_status_name(status), f.error.message);
        file->bytes[at] ^= 1;
    }
    end(&f);
    free(file);
}

static void test_rows_that_no_run_gives_are_refused(void **state) {
    ggufx_eval_facts facts;
    ggufx_eval_row rows[2] = {{1, 2, 0.5, 0, 3}, {1, 2, 0.5, GGUFX_EVAL_SAME_TOP, 3}};
    const ggufx_eval_row good = rows[1];
    fixture f;
    (void)state;
    begin_rows(&f, NULL, 0);
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
#define TOTAL(rows, n, flags) ggufx_eval_merge(&facts, f.rt, rows, n, 1, CHUNK, flags, &f.error)
    MUST(&f, TOTAL(rows, 2, GGUFX_EVAL_COMPARED));
    assert_true(facts.kl == 0.5 && facts.same_top_token == 0.5 && facts.n_tokens == CHUNK);
    MUST(&f, TOTAL(rows, 2, 0));
    assert_true(facts.kl == 0 && facts.perplexity > 2.718 && facts.n_scored == 2);
    FAILS(&f, GGUFX_E_ARGUMENT, "rows", TOTAL(NULL, 2, 0));
    FAILS(&f, GGUFX_E_ARGUMENT, "rows", TOTAL(rows, 0, 0));
    FAILS(&f, GGUFX_E_ARGUMENT, "flags", TOTAL(rows, 2, 8));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt",
          ggufx_eval_merge(&facts, NULL, rows, 2, 1, CHUNK, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "overflows",
          ggufx_eval_merge(&facts, f.rt, rows, 2, UINT64_MAX, CHUNK, 0, &f.error));
    rows[1].flags = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "row 1", TOTAL(rows, 2, 0));
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        rows[1] = good;
        rows[1].loss = bad[i];
        assert_int_equal(TOTAL(rows, 2, GGUFX_EVAL_COMPARED), GGUFX_E_VALUE);
        assert_int_equal(f.error.index, 1);
        rows[1] = good;
        rows[1].reference_loss = bad[i];
        FAILS(&f, GGUFX_E_VALUE, "row 1", TOTAL(rows, 2, GGUFX_EVAL_COMPARED));
        rows[1] = good;
        rows[1].kl_divergence = i ? bad[i] : -0.25;
        FAILS(&f, GGUFX_E_VALUE, "row 1", TOTAL(rows, 2, GGUFX_EVAL_COMPARED));
    }
    rows[1] = good;
    rows[1].loss = INFINITY; /* a run without saved logits may have this */
    MUST(&f, TOTAL(rows, 2, 0));
    assert_true(isinf(facts.perplexity));
    end(&f);
}

static ggufx_status use_total(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_eval_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    return ggufx_eval_merge(&facts, rt, context, ROWS, 3, CHUNK, GGUFX_EVAL_COMPARED, error);
}

static void test_it_survives_each_failing_allocation(void **state) {
    ggufx_eval_row rows[ROWS];
    (void)state;
    for (int i = 0; i < ROWS; i++) rows[i] = (ggufx_eval_row){1.0 / (i + 1), 1, 0.125 * i, 0, 1};
    assert_true(fault_run(use_total, rows) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_parts_make_the_figures_of_the_whole),
        cmocka_unit_test(test_rows_can_stop),
        cmocka_unit_test(test_saved_chunks_that_are_passed_over_are_checked),
        cmocka_unit_test(test_each_damaged_bit_of_the_head_of_saved_logits_is_seen),
        cmocka_unit_test(test_rows_that_no_run_gives_are_refused),
        cmocka_unit_test(test_it_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
