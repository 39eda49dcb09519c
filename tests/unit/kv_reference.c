/*
 * Attention as docs/reproducibility/attention.md defines it, one operation per line, for bit-exact
 * comparison. Written from the definition alone; shares no code with the library.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"

#include <math.h>

static float from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* exp (D3) of base/math.hpp, x <= 88. */
static float text_exp(float x) {
    static const float c[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                              1.6666665459e-1f, 5.0000001201e-1f};
    if (x < -87.0f) return 0.0f;
    const float scaled = x * 1.44269504f;
    const float n = rintf(scaled);
    float r = fmaf(-n, 0.693359375f, x);
    r = fmaf(-n, -2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    for (int i = 0; i < 5; i++) p = fmaf(p, r, c[i]);
    const float square = r * r, one = r + 1.0f;
    p = fmaf(p, square, one);
    return from_bits(kv_bits(p) + ((uint32_t)(int32_t)n << 23));
}

static float text_score(const float *q, const float *k, uint32_t n, float scale) {
    float chain[2] = {0.0f, 0.0f};
    for (uint32_t i = 0; i < n; i++) chain[i & 1] = fmaf(q[i], k[i], chain[i & 1]);
    const float sum = chain[0] + chain[1];
    return sum * scale;
}

typedef struct sums {
    float m, l, *o;
} sums;

static void text_page(sums *c, const float *s, size_t n, const float *v, size_t row_v,
                      uint32_t dv) {
    float largest = -INFINITY, p[64], lane[16] = {0};
    for (size_t t = 0; t < n; t++)
        if (s[t] > largest) largest = s[t];
    const float limit = c->m + 8.0f;
    if (largest > limit) {
        const float difference = c->m - largest, f = text_exp(difference);
        c->l = c->l * f;
        for (uint32_t j = 0; j < dv; j++) c->o[j] = c->o[j] * f;
        c->m = largest;
    }
    for (size_t t = 0; t < n; t++) {
        const float difference = s[t] - c->m;
        p[t] = text_exp(difference);
        lane[t % 16] = lane[t % 16] + p[t];
    }
    float r[8];
    for (int i = 0; i < 8; i++) r[i] = lane[i] + lane[i + 8];
    for (int i = 0; i < 4; i++) r[i] = r[i] + r[i + 4];
    const float a = r[0] + r[2], b = r[1] + r[3], tree = a + b;
    c->l = c->l + tree;
    for (uint32_t j = 0; j < dv; j++)
        for (size_t t = 0; t < n; t++) c->o[j] = fmaf(p[t], v[t * row_v + j], c->o[j]);
}

void kv_reference(float *out, float *m_out, float *l_out, const float *q, const float *k,
                  size_t row_k, const float *v, size_t row_v, size_t n, uint32_t dk, uint32_t dv,
                  float scale) {
    float *o = calloc(2 * dv, sizeof *o), s[64];
    assert_non_null(o);
    sums total = {-INFINITY, 0.0f, o};
    for (size_t chunk = 0; chunk < n; chunk += 512) {
        sums c = {-INFINITY, 0.0f, o + dv};
        memset(c.o, 0, dv * sizeof *o);
        for (size_t page = chunk; page < n && page < chunk + 512; page += 64) {
            const size_t tokens = n - page < 64 ? n - page : 64;
            for (size_t t = 0; t < tokens; t++)
                s[t] = text_score(q, k + (page + t) * row_k, dk, scale);
            text_page(&c, s, tokens, v + page * row_v, row_v, dv);
        }
        const float m = total.m > c.m ? total.m : c.m;
        const float a = text_exp(total.m - m), b = text_exp(c.m - m);
        const float kept = total.l * a;
        total.l = fmaf(c.l, b, kept);
        for (uint32_t j = 0; j < dv; j++) {
            const float old = total.o[j] * a;
            total.o[j] = fmaf(c.o[j], b, old);
        }
        total.m = m;
    }
    for (uint32_t j = 0; j < dv; j++) {
        const float quotient = total.o[j] / total.l;
        out[j] = quotient + 0.0f;
    }
    *m_out = total.m;
    *l_out = total.l;
    free(o);
}
