/*
 * The tiny model in double precision, written from its definition, without a KV cache.
 * SPDX-License-Identifier: MIT
 */
#include "tiny_model.h"
#include "tiny_weights.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef double vector[TINY_FF];

static double ref_weight(const tiny_options *o, uint32_t seed, uint32_t i, float scale) {
    if (o->weight_type == GGUFX_TYPE_Q8_0) return weight_q8_0(seed, i, scale) / 128.0;
    return (double)weight(seed, i, scale);
}

static void ref_product(double *y, const tiny_options *o, uint32_t seed, float scale,
                        const double *x, int rows, int cols) {
    for (int r = 0; r < rows; r++) {
        y[r] = 0;
        for (int c = 0; c < cols; c++) {
            y[r] += ref_weight(o, seed, (uint32_t)(r * cols + c), scale) * x[c];
        }
    }
}

static void ref_norm(double *y, const double *x, uint32_t seed) {
    double sum = 0;
    for (int i = 0; i < TINY_EMBD; i++) sum += x[i] * x[i];
    for (int i = 0; i < TINY_EMBD; i++) {
        y[i] = x[i] / sqrt(sum / TINY_EMBD + 1e-5) * (double)norm_weight(seed, (uint32_t)i);
    }
}

static void ref_rotate(double *x, int heads, size_t position, const tiny_options *o) {
    for (int i = 0; i < TINY_HEAD_DIM / 2; i++) {
        double angle = (double)position * pow(10000.0, -2.0 * i / TINY_HEAD_DIM);
        if (o->rope_freqs) angle /= i + 1;
        if (o->rope_factor != 0.0f) angle /= (double)o->rope_factor;
        for (int h = 0; h < heads; h++) {
            double *p = x + h * TINY_HEAD_DIM + 2 * i;
            const double a = p[0], b = p[1];
            p[0] = a * cos(angle) - b * sin(angle);
            p[1] = a * sin(angle) + b * cos(angle);
        }
    }
}

static void ref_attend(double *out, const double *q, vector *k, vector *v, size_t n) {
    double *score = malloc(n * sizeof *score);
    assert(score);
    for (int h = 0; h < TINY_HEADS; h++) {
        const int from = h / (TINY_HEADS / TINY_KV_HEADS) * TINY_HEAD_DIM;
        double sum = 0;
        for (size_t t = 0; t < n; t++) {
            double dot = 0;
            for (int i = 0; i < TINY_HEAD_DIM; i++) {
                dot += q[h * TINY_HEAD_DIM + i] * k[t][from + i];
            }
            score[t] = exp(dot / sqrt((double)TINY_HEAD_DIM));
            sum += score[t];
        }
        for (int i = 0; i < TINY_HEAD_DIM; i++) {
            double mean = 0;
            for (size_t t = 0; t < n; t++) mean += score[t] / sum * v[t][from + i];
            out[h * TINY_HEAD_DIM + i] = mean;
        }
    }
    free(score);
}

static void ref_layer(double *x, uint32_t layer, vector *k, vector *v, size_t position,
                      const tiny_options *o) {
    vector h, q, a, gate, up;
    ref_norm(h, x, layer_seed(layer, W_ATTN_NORM));
    ref_product(q, o, layer_seed(layer, W_Q), 0.5f, h, TINY_HEADS * TINY_HEAD_DIM, TINY_EMBD);
    ref_product(k[position], o, layer_seed(layer, W_K), 0.5f, h, TINY_KV_HEADS * TINY_HEAD_DIM,
                TINY_EMBD);
    ref_product(v[position], o, layer_seed(layer, W_V), 0.5f, h, TINY_KV_HEADS * TINY_HEAD_DIM,
                TINY_EMBD);
    ref_rotate(q, TINY_HEADS, position, o);
    ref_rotate(k[position], TINY_KV_HEADS, position, o);
    ref_attend(a, q, k, v, position + 1);
    ref_product(h, o, layer_seed(layer, W_O), 0.5f, a, TINY_EMBD, TINY_HEADS * TINY_HEAD_DIM);
    for (int i = 0; i < TINY_EMBD; i++) x[i] += h[i];
    ref_norm(h, x, layer_seed(layer, W_FFN_NORM));
    ref_product(gate, o, layer_seed(layer, W_GATE), 0.5f, h, TINY_FF, TINY_EMBD);
    ref_product(up, o, layer_seed(layer, W_UP), 0.5f, h, TINY_FF, TINY_EMBD);
    for (int i = 0; i < TINY_FF; i++) gate[i] = gate[i] / (1.0 + exp(-gate[i])) * up[i];
    ref_product(h, o, layer_seed(layer, W_DOWN), 0.25f, gate, TINY_EMBD, TINY_FF);
    for (int i = 0; i < TINY_EMBD; i++) x[i] += h[i];
}

void tiny_reference(double *logits, const int32_t *tokens, size_t n, const tiny_options *options) {
    static const tiny_options plain;
    const tiny_options *o = options ? options : &plain;
    vector *k = calloc(TINY_LAYERS * n, sizeof *k), *v = calloc(TINY_LAYERS * n, sizeof *v);
    assert(k && v);
    for (size_t t = 0; t < n; t++) {
        vector x, h;
        for (uint32_t i = 0; i < TINY_EMBD; i++) {
            x[i] = ref_weight(o, SEED_EMBD, (uint32_t)tokens[t] * TINY_EMBD + i, 1.0f);
        }
        for (uint32_t layer = 0; layer < TINY_LAYERS; layer++) {
            ref_layer(x, layer, k + layer * n, v + layer * n, t, o);
        }
        ref_norm(h, x, SEED_NORM);
        ref_product(logits + t * TINY_VOCAB, o, o->untied ? SEED_OUTPUT : SEED_EMBD, 1.0f, h,
                    TINY_VOCAB, TINY_EMBD);
    }
    free(k);
    free(v);
}
