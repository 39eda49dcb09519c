/*
 * Edits of a sequence: removed tokens, positions with gaps, embeddings in place of tokens, hidden
 * states. Compared with the tiny model in double precision, operation by operation. Refused calls
 * change nothing; failing allocations.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "session_fixture.h"

#include <math.h>
#include <string.h>

/* For logits and hidden states in F32, as for other references. */
#define TOLERANCE 1e-3

enum { STEPS = 220, MOST = 12 };

static uint32_t below(uint32_t *random, uint32_t limit) {
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 16) % limit;
}

/* A session and the same sequence in double precision. */
typedef struct pair {
    fixture f;
    tiny_text *text;
    int64_t positions[TINY_CONTEXT];
    size_t n;
    uint32_t random;
    size_t n_gaps, n_embedded, n_removed, n_shifted;
} pair;

static void begin_pair(pair *p, uint32_t n_batch, uint32_t seed) {
    memset(p, 0, sizeof *p);
    p->random = seed;
    begin_session(&p->f, NULL, n_batch);
    p->text = tiny_text_new(NULL);
}

static void end_pair(pair *p) {
    tiny_text_free(p->text);
    end(&p->f);
}

static void assert_near(const float *got, const double *want, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= TOLERANCE))
            fail_msg("value %zu is %g, not %g", i, (double)got[i], want[i]);
}

static void assert_text(pair *p) {
    int32_t positions[TINY_CONTEXT];
    assert_int_equal(ggufx_session_length(p->f.session, 0), p->n);
    MUST(&p->f, ggufx_session_tokens(NULL, positions, p->f.session, 0, 0, p->n, &p->f.error));
    for (size_t i = 0; i < p->n; i++) assert_int_equal(positions[i], p->positions[i]);
}

/* Adds tokens at the next positions or with gaps, as ids or as embeddings. */
static void add(pair *p) {
    static float rows[MOST * TINY_EMBD], logits[MOST * TINY_VOCAB], hidden[MOST * TINY_EMBD];
    int32_t ids[MOST], positions[MOST];
    const size_t room = TINY_CONTEXT - p->n, most = room < MOST ? room : MOST;
    if (most == 0) return;
    const size_t n = 1 + below(&p->random, (uint32_t)most);
    const int gaps = below(&p->random, 3) == 0, embeds = below(&p->random, 3) == 0;
    const int all = below(&p->random, 2) == 0;
    int64_t next = p->n ? p->positions[p->n - 1] + 1 : 0;
    ggufx_decode_options options = {.struct_size = sizeof options};
    options.logits = logits;
    options.hidden = hidden;
    options.n_logits = (all ? n : 1) * TINY_VOCAB;
    options.n_hidden = n * TINY_EMBD;
    ggufx_decode_item item = {
        .struct_size = sizeof item, .tokens = ids, .n_tokens = n, .flags = GGUFX_DECODE_ALL_HIDDEN};
    item.flags |= all ? GGUFX_DECODE_ALL_LOGITS : GGUFX_DECODE_LOGITS;
    for (size_t i = 0; i < n; i++, next++) {
        ids[i] = (int32_t)below(&p->random, TINY_VOCAB);
        if (gaps && below(&p->random, 4) == 0) next += below(&p->random, 50);
        positions[i] = (int32_t)next;
        for (size_t j = 0; j < TINY_EMBD; j++)
            rows[i * TINY_EMBD + j] = (float)below(&p->random, 256) / 128 - 1;
    }
    if (gaps) item.positions = positions;
    if (embeds) {
        item.input_rows = rows;
        item.n_input_rows = n * TINY_EMBD;
        if (below(&p->random, 2)) item.tokens = NULL;
    }
    p->n_gaps += (size_t)gaps;
    p->n_embedded += (size_t)embeds;
    MUST(&p->f, ggufx_session_decode(p->f.session, &item, 1, &options, &p->f.error));
    for (size_t i = 0; i < n; i++) {
        double x[TINY_EMBD], want[TINY_VOCAB], state[TINY_EMBD];
        tiny_embedding(x, ids[i], NULL);
        for (size_t j = 0; j < TINY_EMBD && embeds; j++) x[j] = (double)rows[i * TINY_EMBD + j];
        tiny_text_add(p->text, x, positions[i], want, state);
        if (all || i == n - 1) assert_near(logits + (all ? i : 0) * TINY_VOCAB, want, TINY_VOCAB);
        assert_near(hidden + i * TINY_EMBD, state, TINY_EMBD);
        p->positions[p->n++] = positions[i];
    }
}

static void take_out(pair *p) {
    const size_t first = below(&p->random, (uint32_t)p->n + 1);
    const size_t n = below(&p->random, (uint32_t)(p->n - first) + 1) / (1 + below(&p->random, 4));
    MUST(&p->f, ggufx_session_remove(p->f.session, 0, first, n, &p->f.error));
    tiny_text_remove(p->text, first, n);
    memmove(p->positions + first, p->positions + first + n,
            (p->n - first - n) * sizeof *p->positions);
    p->n -= n;
    p->n_removed += n > 0 && first < p->n;
}

static void move(pair *p) {
    const size_t first = below(&p->random, (uint32_t)p->n), end = p->n;
    const size_t n =
        below(&p->random, 2) ? end - first : 1 + below(&p->random, (uint32_t)(end - first));
    const int64_t before = first ? p->positions[first - 1] : -1;
    const int64_t left = p->positions[first] - before - 1;
    const int64_t right =
        first + n < end ? p->positions[first + n] - p->positions[first + n - 1] - 1 : 40;
    const int64_t delta = below(&p->random, 2) && left
                              ? -(int64_t)below(&p->random, (uint32_t)left + 1)
                              : (int64_t)below(&p->random, (uint32_t)right + 1);
    MUST(&p->f, ggufx_session_shift(p->f.session, 0, first, n, (int32_t)delta, &p->f.error));
    tiny_text_shift(p->text, first, n, delta);
    for (size_t i = first; i < first + n; i++) p->positions[i] += delta;
    p->n_shifted += delta != 0;
}

static void test_texts_are_edited_as_in_double_precision(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        pair p;
        begin_pair(&p, seed == 2 ? 5 : 0, seed);
        for (size_t i = 0; i < STEPS; i++) {
            const uint32_t which = below(&p.random, 8);
            if (which < 5 || p.n == 0)
                add(&p);
            else if (which < 7)
                take_out(&p);
            else
                move(&p);
            assert_text(&p);
        }
        assert_true(p.n_gaps > 5 && p.n_embedded > 5 && p.n_removed > 5 && p.n_shifted > 5);
        end_pair(&p);
    }
}

/* Context shift: the oldest tokens are removed, the others shifted, and decoding continues. */
static void test_a_full_context_goes_on(void **state) {
    pair p;
    (void)state;
    begin_pair(&p, 0, 9);
    for (int turn = 0; turn < 6; turn++) {
        while (p.n < TINY_CONTEXT) add(&p);
        const int64_t gap = p.positions[24] - p.positions[3] - 1;
        MUST(&p.f, ggufx_session_remove(p.f.session, 0, 4, 20, &p.f.error));
        MUST(&p.f,
             ggufx_session_shift(p.f.session, 0, 4, TINY_CONTEXT - 24, (int32_t)-gap, &p.f.error));
        tiny_text_remove(p.text, 4, 20);
        tiny_text_shift(p.text, 4, TINY_CONTEXT - 24, -gap);
        for (size_t i = 4; i + 20 < TINY_CONTEXT; i++) p.positions[i] = p.positions[i + 20] - gap;
        p.n -= 20;
        assert_text(&p);
    }
    end_pair(&p);
}

static ggufx_decode_options options_for(float *logits, size_t n_rows) {
    ggufx_decode_options options = {.struct_size = sizeof options};
    options.logits = logits;
    options.n_logits = n_rows * TINY_VOCAB;
    return options;
}

static void test_odd_items_are_refused(void **state) {
    static float rows[4 * TINY_EMBD], infinite[4 * TINY_EMBD];
    int32_t ids[4];
    const int32_t backward[] = {5, 6, 6, 8}, before[] = {3, 6, 7, 8}, last[] = {5, 6, 7, INT32_MAX},
                  high[] = {5, 6, 7, INT32_MAX - 1};
    const ggufx_decode_item good = {.struct_size = sizeof good, .tokens = ids, .n_tokens = 4};
    fixture f;
    (void)state;
    make_tokens(ids, 4);
    infinite[2 * TINY_EMBD + 5] = (float)INFINITY;
    begin_session(&f, NULL, 0);
    ggufx_decode_options options = options_for(NULL, 0);
    MUST(&f, ggufx_session_decode(f.session, &good, 1, &options, &f.error));
    ggufx_decode_item item = good;
#define REFUSED(code, text)                                                                        \
    FAILS(&f, code, text, ggufx_session_decode(f.session, &item, 1, &options, &f.error));          \
    assert_int_equal(ggufx_session_length(f.session, 0), 4)
    item.positions = backward;
    REFUSED(GGUFX_E_ARGUMENT, "token 2 is at position 6, it must be 7 to 2147483646");
    item.positions = before;
    REFUSED(GGUFX_E_ARGUMENT, "token 0 is at position 3");
    item.positions = last;
    REFUSED(GGUFX_E_ARGUMENT, "token 3 is at position 2147483647");
    item = good;
    item.input_rows = rows;
    REFUSED(GGUFX_E_ARGUMENT, "4 x 32");
    item.n_input_rows = 3 * TINY_EMBD;
    REFUSED(GGUFX_E_ARGUMENT, "4 x 32");
    item.input_rows = NULL;
    REFUSED(GGUFX_E_ARGUMENT, "0 x 32");
    item.n_input_rows = 0;
    item.tokens = NULL;
    REFUSED(GGUFX_E_ARGUMENT, "at least one");
    item.input_rows = infinite;
    item.n_input_rows = 4 * TINY_EMBD;
    REFUSED(GGUFX_E_VALUE, "value 5 of the embedding of token 2");
    item.input_rows = rows;
    item.flags = GGUFX_DECODE_HIDDEN;
    REFUSED(GGUFX_E_ARGUMENT, "hidden must hold 1 rows x 32");
    item.flags = 32;
    REFUSED(GGUFX_E_ARGUMENT, "unknown bits 0x20");
#undef REFUSED
    item = good; /* no position after the last one */
    item.positions = high;
    MUST(&f, ggufx_session_decode(f.session, &item, 1, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "position 2147483647",
          decode_ids(f.session, ids, 1, NULL, 0, &f.error));
    end(&f);
}

static void test_odd_edits_are_refused(void **state) {
    int32_t ids[10], id = 7;
    fixture f;
    (void)state;
    make_tokens(ids, 10);
    begin_session(&f, NULL, 0);
    ggufx_session *const s = f.session;
    decode(&f, ids, 10, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 1", ggufx_session_remove(s, 1, 0, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_remove(NULL, 0, 0, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "has 10", ggufx_session_remove(s, 0, 11, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "has 10", ggufx_session_remove(s, 0, 4, 7, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "has 10", ggufx_session_remove(s, 0, UINT64_MAX, 2, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "has 10", ggufx_session_remove(s, 0, 2, UINT64_MAX, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "has 10", ggufx_session_shift(s, 0, 4, 7, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 7", ggufx_session_shift(s, 7, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_shift(NULL, 0, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "shift by 1", ggufx_session_shift(s, 0, 4, 2, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "shift by -1", ggufx_session_shift(s, 0, 0, 10, -1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "shift by 2147483647",
          ggufx_session_shift(s, 0, 0, 10, INT32_MAX, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "shift by -2147483648",
          ggufx_session_shift(s, 0, 0, 10, INT32_MIN, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "has 10", ggufx_session_tokens(&id, NULL, s, 0, 10, 1, &f.error));
    MUST(&f, ggufx_session_remove(s, 0, 3, 0, &f.error));
    MUST(&f, ggufx_session_shift(s, 0, 3, 0, 5, &f.error));
    MUST(&f, ggufx_session_tokens(&id, NULL, s, 0, 9, 1, &f.error));
    assert_int_equal(id, ids[9]);
    assert_int_equal(ggufx_session_length(s, 0), 10);
    MUST(&f, ggufx_session_remove(s, 0, 3, 4, &f.error));
    MUST(&f, ggufx_session_remove(s, 0, 5, 1, &f.error)); /* the last one */
    assert_int_equal(ggufx_session_length(s, 0), 5);
    end(&f);
}

/* Items of a host that was built with an earlier header. */
static void test_items_of_before_are_taken(void **state) {
    struct {
        uint32_t struct_size, flags, sequence, reserved;
        const int32_t *tokens;
        size_t n_tokens;
    } items[2];
    int32_t ids[4];
    float logits[2 * TINY_VOCAB], want[TINY_VOCAB];
    fixture f;
    (void)state;
    make_tokens(ids, 4);
    begin_session(&f, NULL, 0);
    decode(&f, ids, 4, want);
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    memset(items, 0xa5, sizeof items);
    items[0].struct_size = sizeof items[0];
    items[0].flags = GGUFX_DECODE_LOGITS;
    items[0].sequence = items[0].reserved = 0;
    items[0].tokens = ids;
    items[0].n_tokens = 4;
    ggufx_decode_options options = options_for(logits, 1);
    const void *given = items;
    MUST(&f, ggufx_session_decode(f.session, given, 1, &options, &f.error));
    assert_memory_equal(logits, want, sizeof want);
    end(&f);
}

/* Rows are kept as long as their tokens. */
static void test_memory_of_embeddings_fails_and_comes_back(void **state) {
    static float rows[40 * TINY_EMBD];
    ggufx_decode_item item = {.struct_size = sizeof item,
                              .n_tokens = 40,
                              .input_rows = rows,
                              .n_input_rows = 40 * TINY_EMBD};
    ggufx_session_facts memory = {.struct_size = sizeof memory};
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    const ggufx_decode_options options = options_for(NULL, 0);
    const long long live = f.memory.live_bytes;
    fault_reset(&f.memory);
    f.memory.fail_at = 1;
    FAILS(&f, GGUFX_E_MEMORY, "", ggufx_session_decode(f.session, &item, 1, &options, &f.error));
    f.memory.fail_at = 0;
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    assert_int_equal(f.memory.live_bytes, live);
    MUST(&f, ggufx_session_decode(f.session, &item, 1, &options, &f.error));
    MUST(&f, ggufx_session_info(&memory, f.session, &f.error));
    assert_true(memory.embedded_bytes >= sizeof rows);
    assert_int_equal(f.memory.live_bytes - live, memory.embedded_bytes);
    MUST(&f, ggufx_session_truncate(f.session, 0, 20, &f.error));
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    assert_int_equal(f.memory.live_bytes, live);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_edited_as_in_double_precision),
        cmocka_unit_test(test_a_full_context_goes_on),
        cmocka_unit_test(test_odd_items_are_refused),
        cmocka_unit_test(test_odd_edits_are_refused),
        cmocka_unit_test(test_items_of_before_are_taken),
        cmocka_unit_test(test_memory_of_embeddings_fails_and_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
