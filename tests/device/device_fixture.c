/* SPDX-License-Identifier: MIT */
#include "device_fixture.h"
#include "../unit/ok.h"
#include "../unit/weight_calls.h"

#include <stdbool.h>

uint32_t multiplied_types[64];
size_t n_multiplied_types;

void list_multiplied_types(void) {
    for (uint32_t type = 0; type < 64; type++) {
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        if (ggufx_type_info(&facts, type, NULL) != GGUFX_OK) continue;
        if (facts.flags & GGUFX_TYPE_HAS_MATVEC) multiplied_types[n_multiplied_types++] = type;
    }
}

matrix quantized_matrix(const ggufx_runtime *rt, uint32_t type, uint64_t n_rows, uint64_t n_cols,
                        uint64_t stride) {
    matrix m = random_matrix(type, n_rows, n_cols, stride);
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_type_info(&facts, type, ok_error()));
    if (!(facts.flags & GGUFX_TYPE_HAS_QUANTIZE)) return m;
    float *values = random_values((size_t)(n_rows * n_cols), 5 + type);
    float *weights = malloc((size_t)n_cols * sizeof *weights);
    uint8_t *row = malloc((size_t)m.row_bytes);
    for (uint64_t c = 0; c < n_cols; c++) weights[c] = 1;
    ggufx_quantize_args options = {.struct_size = sizeof options};
    options.imatrix = weights;
    for (uint64_t r = 0; r < n_rows; r++) {
        ggufx_error error;
        if (quantize_rows(row, (size_t)m.row_bytes, rt, type, values + r * n_cols, 1,
                          (size_t)n_cols, &options, &error) != GGUFX_OK) {
            fail_msg("quantize: %s", error.message);
        }
        memcpy(m.data + r * m.stride, row, (size_t)m.row_bytes);
    }
    free(row);
    free(weights);
    free(values);
    return m;
}

ggufx_tensor *upload(const ggufx_device *device, const ggufx_tensor *w) {
    ggufx_tensor *there = NULL;
    ggufx_error error;
    if (ggufx_tensor_upload(&there, device, w, NULL, &error) != GGUFX_OK) {
        fail_msg("upload: %s", error.message);
    }
    return there;
}

uint64_t launches_of(const ggufx_device *device) {
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_device_info(&facts, device, ok_error()));
    return facts.n_launches;
}

void compare_product(tally *t, const ggufx_runtime *rt, const ggufx_device *device,
                     const ggufx_tensor *there, const ggufx_tensor *here, size_t n,
                     uint32_t flags) {
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_tensor_info(&facts, here, ok_error()));
    const size_t rows = (size_t)facts.n_rows, cols = (size_t)facts.ne[0];
    const size_t ldx = cols + 3, ldy = rows + 2;
    const size_t n_x = n ? (n - 1) * ldx + cols : 0, n_y = n ? (n - 1) * ldy + rows : 0;
    float *x = random_values(n_x, 11 * n + flags);
    float *want = malloc((n_y + 1) * sizeof *want), *got = malloc((n_y + 1) * sizeof *got);
    for (size_t i = 0; i < n_y; i++) want[i] = got[i] = -7.0f;
    const ggufx_matmul_options options = options_with(flags, NULL, NULL);
    ggufx_error error;
    if (matmul(want, ldy, n_y, rt, here, x, ldx, n_x, n, &options, &error) != GGUFX_OK) {
        fail_msg("here: %s", error.message);
    }
    const uint64_t before = launches_of(device);
    if (matmul(got, ldy, n_y, rt, there, x, ldx, n_x, n, &options, &error) != GGUFX_OK) {
        fail_msg("there: %s", error.message);
    }
    if (n > 0 && rows > 0 && cols > 0) assert_true(launches_of(device) > before);
    for (size_t i = 0; i < n_y; i++) {
        const bool is_result = i % ldy < rows;
        if (!is_result) assert_true(got[i] == -7.0f && want[i] == -7.0f);
        t->n_compared += is_result;
        t->n_different += bits_of(got[i]) != bits_of(want[i]);
        t->n_nan += got[i] != got[i] && want[i] != want[i];
    }
    free(x);
    free(want);
    free(got);
}

void assert_same_product(const ggufx_runtime *rt, const ggufx_device *device,
                         const ggufx_tensor *there, const ggufx_tensor *here, size_t n,
                         uint32_t flags) {
    tally t = {0, 0, 0};
    compare_product(&t, rt, device, there, here, n, flags);
    if (t.n_different == 0) return;
    fail_msg("%llu of %llu results of %zu columns differ", (unsigned long long)t.n_different,
             (unsigned long long)t.n_compared, n);
}

void assert_same_mixture(const ggufx_runtime *rt, const ggufx_device *device, const mixture *here,
                         const ggufx_tensor *w, uint32_t flags) {
    mixture there = *here;
    there.w = (ggufx_tensor *)w;
    there.y = malloc(y_length(here) * sizeof(float));
    for (size_t i = 0; i < y_length(here); i++) there.y[i] = here->y[i] = -7.0f;
    ggufx_error error;
    const uint64_t before = launches_of(device);
    if (run_mixture(here, rt, flags, NULL, &error) != GGUFX_OK) fail_msg("%s", error.message);
    if (run_mixture(&there, rt, flags, NULL, &error) != GGUFX_OK) fail_msg("%s", error.message);
    assert_true(launches_of(device) > before);
    assert_equal_bits(there.y, here->y, y_length(here));
    free(there.y);
}

void assert_experts_have_the_bits_of_here(const ggufx_runtime *rt, const ggufx_device *device,
                                          uint32_t type, const uint32_t *modes, size_t n_modes) {
    static const struct {
        size_t n_experts, rows, cols, n, n_used;
        uint32_t ids[12];
    } shapes[] = {
        {8, 37, 256, 1, 8, {7, 2, 5, 0, 3, 6, 1, 4}},                   /* all, unordered */
        {8, 3, 512, 3, 2, {5, 5, 5, 1, 5, 5}},                          /* repeated in a column */
        {32, 1, 256, 6, 2, {31, 0, 0, 31, 16, 31, 31, 2, 9, 8, 31, 1}}, /* most unused */
        {1, 37, 256, 5, 1, {0}},
        {4, 3, 768, 4, 3, {3, 0, 3, 1, 0, 1, 3, 3, 3, 0, 1, 0}}, /* row-wise and tiled */
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        mixture m = {shapes[s].n_experts, shapes[s].rows,   shapes[s].cols,
                     shapes[s].n,         shapes[s].n_used, .w = NULL};
        make_mixture(&m, rt, type);
        memcpy(m.ids, shapes[s].ids, m.n * m.n_used * sizeof *m.ids);
        ggufx_tensor *there = upload(device, m.w);
        for (size_t i = 0; i < n_modes; i++) assert_same_mixture(rt, device, &m, there, modes[i]);
        ggufx_tensor_destroy(there);
        free_mixture(&m);
    }
}

void assert_empty_lists_are_results(const ggufx_runtime *rt, const ggufx_device *device) {
    enum { kRows = 6, kCols = 256, kExperts = 3 };
    matrix m = random_matrix(GGUFX_TYPE_Q4_K, kRows, kCols, 0);
    matrix none = random_matrix(GGUFX_TYPE_Q4_K, 0, kCols, 0);
    const uint64_t ne[3] = {kCols, kRows / kExperts, kExperts};
    ggufx_tensor *here = wrap_matrix(rt, &m), *empty = wrap_matrix(rt, &none), *experts = NULL;
    OK(tensor_of(&experts, rt, GGUFX_TYPE_Q4_K, 3, ne, 0, m.data, m.n_bytes, "e", NULL, NULL,
                 ok_error()));
    ggufx_tensor *there = upload(device, here), *empty_there = upload(device, empty),
                 *experts_there = upload(device, experts);
    float *x = random_values(kCols, 1), y[kRows + 1];
    for (size_t i = 0; i <= kRows; i++) y[i] = -7.0f;
    const uint32_t ids[1] = {0};
    const uint64_t before = launches_of(device);
    OK(matvec_many(NULL, NULL, rt, NULL, 0, x, kCols, NULL, ok_error()));
    OK(matmul(y, 0, kRows, rt, there, x, 0, kCols, 0, NULL, ok_error()));
    OK(ggufx_matvec(y, 0, rt, empty_there, x, kCols, NULL, ok_error()));
    OK(matmul_id(y, 0, kRows, rt, experts_there, ids, 0, x, 0, kCols, 1, NULL, ok_error()));
    OK(matmul_id(y, 0, kRows, rt, experts_there, ids, 1, x, 0, kCols, 0, NULL, ok_error()));
    for (size_t i = 0; i <= kRows; i++) assert_true(y[i] == -7.0f);
    assert_int_equal(launches_of(device), before);
    /* A list with empty matrices and one that has rows. */
    const ggufx_tensor *const list[3] = {empty_there, there, empty_there};
    float *const to[3] = {y + kRows, y, y + kRows}, want[kRows];
    const size_t n_y[3] = {0, kRows, 0};
    OK(matvec_many(to, n_y, rt, list, 3, x, kCols, NULL, ok_error()));
    OK(ggufx_matvec((float *)want, kRows, rt, here, x, kCols, NULL, ok_error()));
    assert_equal_bits(y, want, kRows);
    assert_true(y[kRows] == -7.0f);
    ggufx_tensor *const all[] = {here, empty, experts, there, empty_there, experts_there};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) ggufx_tensor_destroy(all[i]);
    free(x);
    free_matrix(&m);
    free_matrix(&none);
}

static ggufx_tensor *slice_of(const ggufx_tensor *w, uint32_t dim, uint64_t first, uint64_t n) {
    ggufx_tensor *slice = NULL;
    OK(ggufx_tensor_slice(&slice, w, dim, first, n, ok_error()));
    return slice;
}

void assert_slices_have_the_bits_of_here(const ggufx_runtime *rt, const ggufx_device *device) {
    static const struct {
        uint32_t type, dim;
        uint64_t first, n;
    } slices[] = {{GGUFX_TYPE_MXFP4, 0, 32, 96}, {GGUFX_TYPE_MXFP4, 0, 96, 96},
                  {GGUFX_TYPE_Q4_0, 0, 64, 32},  {GGUFX_TYPE_Q4_0, 1, 3, 17},
                  {GGUFX_TYPE_F16, 0, 1, 191},   {GGUFX_TYPE_BF16, 1, 22, 1}};
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        matrix m = random_matrix(slices[i].type, 24, 192, 0);
        ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here);
        ggufx_tensor *a = slice_of(here, slices[i].dim, slices[i].first, slices[i].n);
        ggufx_tensor *b = slice_of(there, slices[i].dim, slices[i].first, slices[i].n);
        ggufx_tensor_destroy(there); /* the slice keeps the memory */
        assert_same_product(rt, device, b, a, 1, 0);
        assert_same_product(rt, device, b, a, 3, GGUFX_MATMUL_F32);
        assert_same_product(rt, device, b, a, 5, 0);
        assert_same_product(rt, device, b, a, 5, GGUFX_MATMUL_BATCH_INVARIANT);
        ggufx_tensor_destroy(b);
        ggufx_tensor_destroy(a);
        ggufx_tensor_destroy(here);
        free_matrix(&m);
    }
}

void assert_bytes_come_back(const ggufx_tensor *there, const matrix *m) {
    const size_t n_bytes = (size_t)(m->n_rows * m->row_bytes);
    uint8_t *bytes = malloc(n_bytes + 1);
    OK(ggufx_tensor_download(bytes, n_bytes, there, ok_error()));
    for (uint64_t r = 0; r < m->n_rows; r++)
        assert_memory_equal(bytes + r * m->row_bytes, m->data + r * m->stride, m->row_bytes);
    free(bytes);
}

static uint32_t word_sum(const matrix *m, uint64_t first, uint64_t n) {
    uint32_t sum = 0;
    for (uint64_t r = first; r < first + n; r++)
        for (uint64_t i = 0; i < m->row_bytes; i++)
            sum += (uint32_t)m->data[r * m->stride + i] << 8 * (i % 4);
    return sum;
}

void assert_word_sums(const ggufx_tensor *there, const matrix *m, uint64_t first, uint64_t n) {
    ggufx_tensor *slice = slice_of(there, 1, first, n);
    uint32_t sum = 0;
    OK(ggufx_tensor_checksum(&sum, there, ok_error()));
    assert_int_equal(sum, word_sum(m, 0, m->n_rows));
    OK(ggufx_tensor_checksum(&sum, slice, ok_error()));
    assert_int_equal(sum, word_sum(m, first, n));
    ggufx_tensor_destroy(slice);
}
