/* Continuous batching: several prompts in one session; each step decodes one token per sequence.
 * SPDX-License-Identifier: MIT */
#include "example.h"

#include <string.h>

enum { kTexts = 3, kMost = 64 };

int main(int argc, char **argv) {
    const char *prompts[kTexts] = {"Once upon a time", "The sun", "Nib was"};
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    ggufx_model *model = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_session *session = NULL;
    ggufx_sampler *sampler = NULL;
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_tokenizer_create(&tokenizer, file, &error));
    ggufx_session_options options = {.struct_size = sizeof options};
    options.n_sequences = kTexts;
    must(ggufx_session_create(&session, model, &options, &error));
    ggufx_model_facts info = {.struct_size = sizeof info};
    must(ggufx_model_info(&info, model, &error));
    must(ggufx_sampler_create(&sampler, rt, info.n_vocab, 0, &error));
    must(ggufx_sampler_add_top_k(sampler, 1, &error)); // greedy
    float *rows = malloc(kTexts * sizeof *rows * info.n_vocab);
    int32_t ids[kTexts][kMost];
    size_t n_ids[kTexts], known[kTexts] = {0};
    if (!rows) return 1;
    for (int i = 0; i < kTexts; i++)
        must(ggufx_tokenize(ids[i], kMost, &n_ids[i], tokenizer, prompts[i], strlen(prompts[i]),
                            GGUFX_TOKENIZE_ADD_SPECIAL, &error));
    ggufx_decode_options batch = {.struct_size = sizeof batch};
    batch.logits = rows;
    batch.n_logits = (size_t)kTexts * info.n_vocab;
    for (int step = 0; step < 12; step++) {
        ggufx_decode_item items[kTexts] = {{0}};
        for (int i = 0; i < kTexts; i++) {
            items[i].struct_size = sizeof items[i];
            items[i].sequence = (uint32_t)i;
            items[i].flags = GGUFX_DECODE_LOGITS;
            items[i].tokens = ids[i] + known[i];
            items[i].n_tokens = n_ids[i] - known[i];
            known[i] = n_ids[i];
        }
        must(ggufx_session_decode(session, items, kTexts, &batch, &error));
        for (int i = 0; i < kTexts; i++)
            must(ggufx_sampler_sample(&ids[i][n_ids[i]++], NULL, sampler, NULL,
                                      rows + (size_t)i * info.n_vocab, info.n_vocab, &error));
    }
    for (int i = 0; i < kTexts; i++) {
        char text[1024];
        size_t n_text = 0;
        must(ggufx_detokenize(text, sizeof text, &n_text, tokenizer, ids[i], n_ids[i], 0, &error));
        printf("%.*s\n", (int)n_text, text);
    }
    free(rows);
    ggufx_sampler_destroy(sampler);
    ggufx_session_destroy(session);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
