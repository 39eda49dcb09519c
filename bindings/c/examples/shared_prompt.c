/* Shared prefix: a common prompt is computed once, and sequences share its KV cache.
 * SPDX-License-Identifier: MIT */
#include "example.h"

#include <string.h>

enum { kMost = 128, kMore = 8 };

static const char kPrompt[] =
    "Once upon a time Nib was in the village. The old book was under the bed. "
    "The sun was warm. Nib and Tuft played and sang. "
    "Soon it was getting dark. That night they went home. The next day they baked a cake.";

/* Append ids to a sequence; its logits, unless row is NULL. */
static void decode(ggufx_session *session, uint32_t sequence, const int32_t *ids, size_t n,
                   float *row, size_t n_vocab) {
    ggufx_decode_item item = {
        .struct_size = sizeof item, .sequence = sequence, .tokens = ids, .n_tokens = n};
    ggufx_decode_options options = {.struct_size = sizeof options};
    item.flags = row ? GGUFX_DECODE_LOGITS : GGUFX_DECODE_CHECKPOINT;
    options.logits = row;
    options.n_logits = row ? n_vocab : 0;
    must(ggufx_session_decode(session, &item, 1, &options, &error));
}

int main(int argc, char **argv) {
    const char *more[2] = {" Nib was", " The sun"};
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    ggufx_model *model = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_session *session = NULL;
    ggufx_sampler *sampler = NULL;
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_tokenizer_create(&tokenizer, file, &error));
    ggufx_session_options options = {.struct_size = sizeof options};
    options.n_sequences = 3;
    must(ggufx_session_create(&session, model, &options, &error));
    ggufx_model_facts info = {.struct_size = sizeof info};
    must(ggufx_model_info(&info, model, &error));
    must(ggufx_sampler_create(&sampler, rt, info.n_vocab, 0, &error));
    must(ggufx_sampler_add_top_k(sampler, 1, &error)); // greedy
    float *row = malloc(info.n_vocab * sizeof *row);
    int32_t ids[kMost];
    size_t n_prompt = 0, n = 0, n_text = 0;
    char text[1024];
    if (!row) return 1;
    must(ggufx_tokenize(ids, kMost, &n_prompt, tokenizer, kPrompt, sizeof kPrompt - 1,
                        GGUFX_TOKENIZE_ADD_SPECIAL, &error));
    decode(session, 0, ids, n_prompt, NULL, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        must(ggufx_session_copy(session, 0, i, n_prompt, &error));
        must(ggufx_tokenize(ids, kMost - kMore, &n, tokenizer, more[i - 1], strlen(more[i - 1]), 0,
                            &error));
        decode(session, i, ids, n, row, info.n_vocab);
        for (const size_t end = n + kMore; n < end;) {
            must(ggufx_sampler_sample(&ids[n++], NULL, sampler, NULL, row, info.n_vocab, &error));
            decode(session, i, ids + n - 1, 1, row, info.n_vocab);
        }
        must(ggufx_detokenize(text, sizeof text, &n_text, tokenizer, ids, n, 0, &error));
        printf("%.*s\n", (int)n_text, text);
    }
    ggufx_session_facts facts = {.struct_size = sizeof facts};
    must(ggufx_session_info(&facts, session, &error));
    printf("%llu tokens, %llu shared pages\n", (unsigned long long)facts.n_tokens,
           (unsigned long long)facts.n_shared_pages);
    free(row);
    ggufx_sampler_destroy(sampler);
    ggufx_session_destroy(session);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
