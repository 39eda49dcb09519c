/*
 * The tiny model in double precision, written from its definition. Keys are stored without RoPE,
 * which is applied again for each query.
 * SPDX-License-Identifier: MIT
 */
#include "tiny_model.h"
#include "tiny_weights.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void ref_rotate(double *x, int heads, int64_t position, const tiny_options *o) {
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

/* Stored results of a token. */
typedef struct ref_token {
    int64_t position;
    vector k[TINY_LAYERS], v[TINY_LAYERS];
} ref_token;

struct tiny_text {
    tiny_options options;
    ref_token *tokens;
    size_t n, room;
};

static void ref_attend(double *out, const double *q, const tiny_text *text, uint32_t layer) {
    const size_t n = text->n;
    double *score = malloc(n * sizeof *score);
    vector *keys = malloc(n * sizeof *keys);
    assert(score && keys);
    for (size_t t = 0; t < n; t++) {
        memcpy(keys[t], text->tokens[t].k[layer], sizeof *keys);
        ref_rotate(keys[t], TINY_KV_HEADS, text->tokens[t].position, &text->options);
    }
    for (int h = 0; h < TINY_HEADS; h++) {
        const int from = h / (TINY_HEADS / TINY_KV_HEADS) * TINY_HEAD_DIM;
        double sum = 0;
        for (size_t t = 0; t < n; t++) {
            double dot = 0;
            for (int i = 0; i < TINY_HEAD_DIM; i++) {
                dot += q[h * TINY_HEAD_DIM + i] * keys[t][from + i];
            }
            score[t] = exp(dot / sqrt((double)TINY_HEAD_DIM));
            sum += score[t];
        }
        for (int i = 0; i < TINY_HEAD_DIM; i++) {
            double mean = 0;
            for (size_t t = 0; t < n; t++) {
                mean += score[t] / sum * text->tokens[t].v[layer][from + i];
            }
            out[h * TINY_HEAD_DIM + i] = mean;
        }
    }
    free(score);
    free(keys);
}

/* Computes a layer for the last token. */
static void ref_layer(double *x, uint32_t layer, tiny_text *text) {
    const tiny_options *o = &text->options;
    ref_token *token = &text->tokens[text->n - 1];
    vector h, q, a, gate, up;
    ref_norm(h, x, layer_seed(layer, W_ATTN_NORM));
    ref_product(q, o, layer_seed(layer, W_Q), 0.5f, h, TINY_HEADS * TINY_HEAD_DIM, TINY_EMBD);
    ref_product(token->k[layer], o, layer_seed(layer, W_K), 0.5f, h, TINY_KV_HEADS * TINY_HEAD_DIM,
                TINY_EMBD);
    ref_product(token->v[layer], o, layer_seed(layer, W_V), 0.5f, h, TINY_KV_HEADS * TINY_HEAD_DIM,
                TINY_EMBD);
    ref_rotate(q, TINY_HEADS, token->position, o);
    ref_attend(a, q, text, layer);
    ref_product(h, o, layer_seed(layer, W_O), 0.5f, a, TINY_EMBD, TINY_HEADS * TINY_HEAD_DIM);
    for (int i = 0; i < TINY_EMBD; i++) x[i] += h[i];
    ref_norm(h, x, layer_seed(layer, W_FFN_NORM));
    ref_product(gate, o, layer_seed(layer, W_GATE), 0.5f, h, TINY_FF, TINY_EMBD);
    ref_product(up, o, layer_seed(layer, W_UP), 0.5f, h, TINY_FF, TINY_EMBD);
    for (int i = 0; i < TINY_FF; i++) gate[i] = gate[i] / (1.0 + exp(-gate[i])) * up[i];
    ref_product(h, o, layer_seed(layer, W_DOWN), 0.25f, gate, TINY_EMBD, TINY_FF);
    for (int i = 0; i < TINY_EMBD; i++) x[i] += h[i];
}

tiny_text *tiny_text_new(const tiny_options *options) {
    tiny_text *text = calloc(1, sizeof *text);
    assert(text);
    if (options) text->options = *options;
    return text;
}

void tiny_text_free(tiny_text *text) {
    free(text->tokens);
    free(text);
}

void tiny_embedding(double *out, int32_t token, const tiny_options *options) {
    static const tiny_options plain;
    for (uint32_t i = 0; i < TINY_EMBD; i++)
        out[i] = ref_weight(options ? options : &plain, SEED_EMBD, (uint32_t)token * TINY_EMBD + i,
                            1.0f);
}

void tiny_text_add(tiny_text *text, const double *embedding, int64_t position, double *logits,
                   double *hidden) {
    const tiny_options *o = &text->options;
    vector x, h;
    if (text->n == text->room) {
        text->room = text->room ? 2 * text->room : 16;
        text->tokens = realloc(text->tokens, text->room * sizeof *text->tokens);
        assert(text->tokens);
    }
    text->tokens[text->n++].position = position;
    for (int i = 0; i < TINY_EMBD; i++) x[i] = embedding[i];
    for (uint32_t layer = 0; layer < TINY_LAYERS; layer++) ref_layer(x, layer, text);
    ref_norm(h, x, SEED_NORM);
    if (hidden) memcpy(hidden, h, TINY_EMBD * sizeof *hidden);
    if (!logits) return;
    ref_product(logits, o, o->untied ? SEED_OUTPUT : SEED_EMBD, 1.0f, h, TINY_VOCAB, TINY_EMBD);
}

void tiny_text_remove(tiny_text *text, size_t first, size_t n) {
    memmove(text->tokens + first, text->tokens + first + n,
            (text->n - first - n) * sizeof *text->tokens);
    text->n -= n;
}

void tiny_text_shift(tiny_text *text, size_t first, size_t n, int64_t delta) {
    for (size_t t = first; t < first + n; t++) text->tokens[t].position += delta;
}

void tiny_reference(double *logits, const int32_t *tokens, size_t n, const tiny_options *options) {
    tiny_text *text = tiny_text_new(options);
    for (size_t t = 0; t < n; t++) {
        double x[TINY_EMBD];
        tiny_embedding(x, tokens[t], options);
        tiny_text_add(text, x, (int64_t)t, logits + t * TINY_VOCAB, NULL);
    }
    tiny_text_free(text);
}
