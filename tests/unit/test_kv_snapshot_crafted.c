/*
 * Snapshots with valid checksums and numbers that no cache can reach are refused, without a change.
 * The largest accepted numbers do no harm.
 * SPDX-License-Identifier: MIT
 */
#include "kv_crafted.h"
#include "ok.h"

enum { kDim = 16, kWindow = 10, kTokens = 300, kTrack = 16 + 4 * (11 + 4) + 4 + 8 };
static const uint64_t kMost = (uint64_t)1 << 40; /* tokens of a sequence */

/* One layer with a window that has dropped most tokens. */
static ggufx_kv *windowed(const ggufx_runtime *rt, uint64_t max_tokens) {
    const ggufx_kv_layer_options layer = kv_window(kWindow, 0);
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    shape.layers = &layer;
    shape.n_layer_options = 1;
    shape.max_tokens = max_tokens;
    shape.rope_style = GGUFX_ROPE_INTERLEAVED;
    return kv_make(rt, &shape);
}

static void go_on(ggufx_kv *kv, size_t n) {
    float *x = kv_random(n * kDim, 7);
    for (size_t i = 0; i < n; i++)
        OK(kv_append_rows(kv, 0, 0, 1, NULL, x + i * kDim, kDim, x + i * kDim, kDim, ok_error()));
    free(x);
}

/* Up to three changed numbers, by offset in the track. */
struct change {
    size_t at, bytes;
    uint64_t value;
};
struct crafted {
    const char *what;
    struct change changes[3];
};

static kv_bytes with_changes(const kv_bytes *good, const struct change *changes, size_t n) {
    kv_bytes b = {0};
    assert_int_equal(kv_bytes_write(&b, good->data, good->n), GGUFX_OK);
    for (size_t i = 0; i < n; i++)
        if (changes[i].bytes)
            crafted_put(b.data + kTrack + changes[i].at, changes[i].value, changes[i].bytes);
    crafted_seal(b.data, b.n, 1);
    return b;
}

static void test_numbers_that_no_cache_comes_to_are_refused(void **state) {
    (void)state;
    enum {
        kAtTokens = kCraftedTokens,
        kAtDropped = kCraftedDropped,
        kFirst = kCraftedDroppedFirst
    };
    enum { kLast = kCraftedDroppedLast, kPages = kCraftedPages };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = windowed(rt, 0);
    go_on(kv, kTokens);
    kv_bytes good = kv_saved(kv, 0);
    const uint64_t dropped = crafted_get(good.data + kTrack + kAtDropped, 8);
    const uint64_t held = kTokens - dropped, top = UINT64_MAX - 9;
    const uint64_t first = crafted_get(good.data + kTrack + kCraftedPositions, 4); /* page one */
    assert_true(dropped > 0 && held > 0 && first > 0);
    const struct crafted cases[] = {
        {"both near 2^64", {{kAtTokens, 8, top}, {kAtDropped, 8, top - held}, {0, 0, 0}}},
        {"both at 2^63",
         {{kAtTokens, 8, 1ull << 63}, {kAtDropped, 8, (1ull << 63) - held}, {0, 0, 0}}},
        {"one beyond the limit",
         {{kAtTokens, 8, kMost + 1}, {kAtDropped, 8, kMost + 1 - held}, {0, 0, 0}}},
        {"more dropped than there were", {{kAtDropped, 8, kTokens + 1}, {0, 0, 0}, {0, 0, 0}}},
        {"all dropped", {{kAtTokens, 8, 64}, {kAtDropped, 8, 64}, {kPages, 8, 0}}},
        {"dropped ones that descend", {{kFirst, 4, 100}, {kLast, 4, 99}, {0, 0, 0}}},
        {"dropped ones after those held", {{kFirst, 4, 0}, {kLast, 4, kTokens}, {0, 0, 0}}},
        {"fewer tokens than pages", {{kPages, 8, held + 1}, {0, 0, 0}, {0, 0, 0}}},
        {"pages beyond 64 bits", {{kPages, 8, UINT64_MAX}, {0, 0, 0}, {0, 0, 0}}},
        {"a page of too many", {{kCraftedPageTokens, 4, 65}, {0, 0, 0}, {0, 0, 0}}},
        {"a page of none", {{kCraftedPageTokens, 4, 0}, {0, 0, 0}, {0, 0, 0}}},
        {"slots that wrap", {{kCraftedPageFirst, 4, UINT32_MAX}, {0, 0, 0}, {0, 0, 0}}},
        {"an odd form", {{kCraftedPage, 4, 3}, {0, 0, 0}, {0, 0, 0}}},
        {"encoded floats", {{kCraftedPage, 4, 1}, {0, 0, 0}, {0, 0, 0}}},
        {"a shift out of 32 bits", {{kCraftedPageDelta, 4, INT32_MAX}, {0, 0, 0}, {0, 0, 0}}},
        {"a negative position", {{kCraftedPositions, 4, (uint64_t)-1}, {0, 0, 0}, {0, 0, 0}}},
        {"a negative dropped one", {{kFirst, 4, (uint64_t)-1}, {0, 0, 0}, {0, 0, 0}}},
        {"an infinity", {{kCraftedPositions + 4 * 64, 2, 0x7c00}, {0, 0, 0}, {0, 0, 0}}},
        {"a NaN", {{kCraftedPositions + 4 * 64 + 62, 2, 0xfe01}, {0, 0, 0}, {0, 0, 0}}},
        {"a position that descends", {{kCraftedPositions + 4, 4, 0}, {0, 0, 0}, {0, 0, 0}}},
        {"one that descends by one", {{kCraftedPositions + 4, 4, first - 1}, {0, 0, 0}, {0, 0, 0}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kv_bytes bad = with_changes(&good, cases[i].changes, 3);
        ggufx_error error;
        if (ggufx_kv_load(kv, 0, kv_bytes_read, &bad, &error) != GGUFX_E_MALFORMED)
            fail_msg("%s: status %d, \"%s\"", cases[i].what, error.status, error.message);
        kv_bytes now = kv_saved(kv, 0);
        assert_int_equal(now.n, good.n);
        assert_memory_equal(now.data, good.data, good.n);
        free(now.data);
        free(bad.data);
    }
    free(good.data);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static void attend_last(float *out, const ggufx_kv *kv) {
    float *q = kv_random(kDim, 3);
    OK(kv_attend_rows(out, kDim, NULL, 0, kv, 0, 0, q, kDim, 1, NULL, NULL, ok_error()));
    free(q);
}

static void test_the_largest_sequence_works_up_to_its_last_token(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *plain = windowed(rt, 0), *large = windowed(rt, 0);
    go_on(plain, kTokens);
    kv_bytes good = kv_saved(plain, 0);
    const uint64_t dropped = crafted_get(good.data + kTrack + kCraftedDropped, 8);
    /* a multiple of attention's chunks, so that its sums are split equally */
    const uint64_t more = kMost - 4096;
    const struct change changes[] = {{kCraftedTokens, 8, kTokens + more},
                                     {kCraftedDropped, 8, dropped + more}};
    kv_bytes far = with_changes(&good, changes, 2);
    OK(ggufx_kv_load(large, 0, kv_bytes_read, &far, ok_error()));
    go_on(plain, 100);
    go_on(large, 100);
    float a[kDim], b[kDim], x[kDim] = {0}, *all = kv_random(4096 * kDim, 1);
    attend_last(a, plain);
    attend_last(b, large);
    assert_memory_equal(a, b, sizeof a);
    uint64_t length = 0;
    OK(ggufx_kv_length(&length, large, 0, ok_error()));
    assert_true(length == kTokens + more + 100);
    const size_t room = (size_t)(kMost - length);
    ggufx_error error;
    assert_int_equal(kv_append_rows(large, 0, 0, room + 1, NULL, all, (room + 1) * kDim, all,
                                    (room + 1) * kDim, &error),
                     GGUFX_E_CAPACITY);
    assert_non_null(strstr(error.message, "1099511627776"));
    OK(kv_append_rows(large, 0, 0, room, NULL, all, room * kDim, all, room * kDim, ok_error()));
    const uint32_t sequence = 0;
    const int32_t position = 100000;
    assert_int_equal(kv_append_batch(large, 0, 1, &sequence, &position, x, kDim, x, kDim, NULL),
                     GGUFX_E_CAPACITY);
    assert_int_equal(kv_score_rows(x, 1, large, 0, 0, x, kDim, 1, 0, NULL), GGUFX_E_ARGUMENT);
    attend_last(a, large);
    free(all);
    free(far.data);
    free(good.data);
    ggufx_kv_destroy(plain);
    ggufx_kv_destroy(large);
    ggufx_runtime_destroy(rt);
}

/* Converts a snapshot of two sequences to version 1, which stores the calibration of their pages
 * once. */
static kv_bytes in_version_1(const kv_bytes *good) {
    enum { kHead = 16 + 4 * (11 + 4), kMeans = 4 * 3 * kDim };
    const size_t means = kHead + 2 * 4 + 8, tracks = means + 2 * kMeans;
    uint8_t flag[4], sum[8] = {0};
    kv_bytes b = {0};
    assert_int_equal(crafted_get(good->data + kHead, 4), 1); /* learned calibration */
    assert_int_equal(crafted_get(good->data + kHead + 4, 4), 1);
    assert_memory_equal(good->data + means, good->data + means + kMeans, kMeans);
    memcpy(flag, good->data + kHead, 4);
    assert_int_equal(kv_bytes_write(&b, good->data, kHead), GGUFX_OK);
    crafted_put(b.data + 8, 1, 4);
    assert_int_equal(kv_bytes_write(&b, flag, sizeof flag), GGUFX_OK);
    assert_int_equal(kv_bytes_write(&b, sum, sizeof sum), GGUFX_OK);
    assert_int_equal(kv_bytes_write(&b, good->data + means, kMeans), GGUFX_OK);
    assert_int_equal(kv_bytes_write(&b, good->data + tracks, good->n - tracks), GGUFX_OK);
    crafted_seal(b.data, b.n, 1);
    return b;
}

static void test_version_1_shares_what_pages_are_centred_by(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0);
    shape.n_sequences = 2;
    shape.flags |= GGUFX_KV_CENTRE_ALL;
    ggufx_kv *kv = kv_make(rt, &shape), *other = kv_make(rt, &shape);
    float *x = kv_random(kTokens * kDim, 7);
    kv_fill(kv, &shape, 0, kTokens, 16, NULL, x, x);
    OK(ggufx_kv_copy(kv, 0, 1, 0, kTokens, ok_error()));
    kv_bytes good = kv_saved(kv, GGUFX_ALL_SEQUENCES);
    kv_bytes old = in_version_1(&good);
    ggufx_error error;
    if (ggufx_kv_load(other, GGUFX_ALL_SEQUENCES, kv_bytes_read, &old, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    kv_bytes again = kv_saved(other, GGUFX_ALL_SEQUENCES);
    assert_int_equal(again.n, good.n);
    assert_memory_equal(again.data, good.data, good.n);
    free(x);
    free(again.data);
    free(old.data);
    free(good.data);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(other);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_that_no_cache_comes_to_are_refused),
        cmocka_unit_test(test_the_largest_sequence_works_up_to_its_last_token),
        cmocka_unit_test(test_version_1_shares_what_pages_are_centred_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
