/*
 * Reads everything in an opened file: every key, element, tensor, value. Results are not checked;
 * it only must not crash. Shared by the bit-flip tests, the replay of hostile files and the fuzz
 * target.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_LOOK_H
#define GGUFX_TEST_LOOK_H

#include <ggufx/ggufx.h>
#include <stdlib.h>

static void look_at_key(const ggufx_file *f, size_t index, int depth) {
    ggufx_meta_facts e = {.struct_size = sizeof e};
    uint64_t u, i;
    int64_t s;
    double d;
    int32_t b;
    ggufx_text text;
    size_t inner;
    if (ggufx_file_meta_at(&e, f, index, NULL) != GGUFX_OK) abort();
    if (e.key.data && (ggufx_file_meta_find(&inner, f, e.key.data, e.key.size, NULL) != GGUFX_OK ||
                       inner != index))
        abort();
    (void)ggufx_file_meta_u64(&u, f, index, NULL);
    (void)ggufx_file_meta_i64(&s, f, index, NULL);
    (void)ggufx_file_meta_f64(&d, f, index, NULL);
    (void)ggufx_file_meta_bool(&b, f, index, NULL);
    (void)ggufx_file_meta_string(&text, f, index, NULL);
    for (i = 0; i < e.count && i < 4096; i++) {
        const uint64_t at = i < 2048 ? i : e.count - 1 - (i - 2048); /* both ends of long arrays */
        (void)ggufx_file_meta_array_u64(&u, f, index, at, 1, NULL);
        (void)ggufx_file_meta_array_i64(&s, f, index, at, 1, NULL);
        (void)ggufx_file_meta_array_f64(&d, f, index, at, 1, NULL);
        if (ggufx_file_meta_array_string(&text, f, index, at, NULL) == GGUFX_OK && text.size > 0)
            (void)*(const volatile char *)(text.data + text.size - 1);
        if (depth < 16 && ggufx_file_meta_array_nested(&inner, f, index, at, NULL) == GGUFX_OK &&
            i < 64)
            look_at_key(f, inner, depth + 1);
    }
}

static void look_at_tensor(const ggufx_file *f, size_t index, const ggufx_runtime *rt) {
    const ggufx_tensor *t = ggufx_file_tensor(f, index);
    ggufx_tensor_facts e = {.struct_size = sizeof e};
    ggufx_tensor *slice = NULL;
    size_t found;
    uint64_t row;
    float *x;
    if (ggufx_tensor_info(&e, t, NULL) != GGUFX_OK) abort();
    if (ggufx_file_tensor_find(&found, f, e.name.data, e.name.size, NULL) != GGUFX_OK ||
        found != index)
        abort();
    if (ggufx_tensor_slice(&slice, t, 1, 0, 1, NULL) == GGUFX_OK) ggufx_tensor_destroy(slice);
    if (!ggufx_tensor_data(t) || e.ne[0] > (1u << 22)) return;
    x = malloc((size_t)e.ne[0] * sizeof *x);
    if (!x) return;
    for (row = 0; row < e.n_rows && row < 65536; row++)
        (void)ggufx_dequantize(x, (size_t)e.ne[0], rt, t, row, 1, NULL);
    free(x);
}

static int32_t look_at_finding(void *user, const ggufx_finding_facts *finding) {
    (void)user;
    return finding->text == NULL;
}

static void look_at_file(const ggufx_file *f, const ggufx_runtime *rt) {
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    size_t i;
    if (ggufx_file_info(&facts, f, NULL) != GGUFX_OK) abort();
    for (i = 0; i < ggufx_file_meta_count(f); i++) look_at_key(f, i, 0);
    for (i = 0; i < ggufx_file_tensor_count(f); i++) look_at_tensor(f, i, rt);
    (void)ggufx_file_validate(f, GGUFX_VALIDATE_DEEP | GGUFX_VALIDATE_STRICT, look_at_finding, NULL,
                              NULL, NULL);
    (void)ggufx_file_validate(f, 0, look_at_finding, NULL, NULL, NULL);
}

#endif
