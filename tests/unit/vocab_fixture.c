/* SPDX-License-Identifier: MIT */
#include "vocab_fixture.h"

ggufx_file *vocab_file(const vocab_token *tokens, size_t n) {
    gb b;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "tokenizer.ggml.model", "llama");
    gb_key(&b, "tokenizer.ggml.add_space_prefix", GGUFX_VALUE_BOOL);
    gb_u8(&b, 0);
    gb_key_array(&b, "tokenizer.ggml.tokens", GGUFX_VALUE_STRING, n);
    for (size_t i = 0; i < n; i++) gb_string_n(&b, tokens[i].text, tokens[i].length);
    gb_key_array(&b, "tokenizer.ggml.scores", GGUFX_VALUE_F32, n);
    for (size_t i = 0; i < n; i++) gb_f32(&b, tokens[i].score);
    gb_key_array(&b, "tokenizer.ggml.token_type", GGUFX_VALUE_I32, n);
    for (size_t i = 0; i < n; i++) gb_u32(&b, (uint32_t)tokens[i].kind);
    gb_data(&b);
    return open_copy(&b);
}

vocab open_vocab(const vocab_token *tokens, size_t n) {
    vocab v = {vocab_file(tokens, n), NULL};
    ggufx_error error;
    if (ggufx_tokenizer_create(&v.tokenizer, v.file, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return v;
}

void close_vocab(vocab *v) {
    ggufx_tokenizer_destroy(v->tokenizer);
    ggufx_file_destroy(v->file);
}
