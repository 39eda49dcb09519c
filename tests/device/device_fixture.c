/* SPDX-License-Identifier: MIT */
#include "device_fixture.h"

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
    assert_int_equal(ggufx_type_info(&facts, type, NULL), GGUFX_OK);
    if (!(facts.flags & GGUFX_TYPE_HAS_QUANTIZE)) return m;
    float *values = random_values((size_t)(n_rows * n_cols), 5 + type);
    float *weights = malloc((size_t)n_cols * sizeof *weights);
    uint8_t *row = malloc((size_t)m.row_bytes);
    for (uint64_t c = 0; c < n_cols; c++) weights[c] = 1;
    ggufx_quantize_options options;
    ggufx_quantize_options_init(&options);
    options.imatrix = weights;
    for (uint64_t r = 0; r < n_rows; r++) {
        ggufx_error error;
        if (ggufx_quantize_blocks(row, (size_t)m.row_bytes, rt, type, values + r * n_cols, 1,
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
    assert_int_equal(ggufx_device_info(&facts, device, NULL), GGUFX_OK);
    return facts.n_launches;
}

uint32_t word_sum(const matrix *m) {
    uint32_t sum = 0;
    for (uint64_t r = 0; r < m->n_rows; r++)
        for (uint64_t i = 0; i < m->row_bytes; i++)
            sum += (uint32_t)m->data[r * m->stride + i] << 8 * (i % 4);
    return sum;
}

void assert_same_product(const ggufx_runtime *rt, const ggufx_device *device,
                         const ggufx_tensor *there, const ggufx_tensor *here, size_t n,
                         uint32_t flags) {
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_tensor_info(&facts, here, NULL), GGUFX_OK);
    const size_t rows = (size_t)facts.n_rows, cols = (size_t)facts.ne[0];
    const size_t ldx = cols + 3, ldy = rows + 2;
    const size_t n_x = n ? (n - 1) * ldx + cols : 0, n_y = n ? (n - 1) * ldy + rows : 0;
    float *x = random_values(n_x, 11 * n + flags);
    float *want = malloc((n_y + 1) * sizeof *want), *got = malloc((n_y + 1) * sizeof *got);
    for (size_t i = 0; i < n_y; i++) want[i] = got[i] = -7.0f;
    const ggufx_matmul_options options = options_with(flags, NULL, NULL);
    ggufx_error error;
    if (ggufx_matmul(want, ldy, n_y, rt, here, x, ldx, n_x, n, &options, &error) != GGUFX_OK) {
        fail_msg("here: %s", error.message);
    }
    const uint64_t before = launches_of(device);
    if (ggufx_matmul(got, ldy, n_y, rt, there, x, ldx, n_x, n, &options, &error) != GGUFX_OK) {
        fail_msg("there: %s", error.message);
    }
    if (n > 0 && rows > 0 && cols > 0) assert_true(launches_of(device) > before);
    assert_equal_bits(got, want, n_y);
    free(x);
    free(want);
    free(got);
}
