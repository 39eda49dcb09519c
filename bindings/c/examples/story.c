/* Greedy generation: prefills a prompt, then decodes the most likely token at each step.
 * SPDX-License-Identifier: MIT */
#include "example.h"

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    ggufx_model *model = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_session *session = NULL;
    ggufx_sampler *sampler = NULL;
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_tokenizer_create(&tokenizer, file, &error));
    must(ggufx_session_create(&session, model, NULL, &error));
    ggufx_model_facts info = {.struct_size = sizeof info};
    must(ggufx_model_info(&info, model, &error));
    must(ggufx_sampler_create(&sampler, rt, info.n_vocab, NULL, &error));
    float *logits = malloc(info.n_vocab * sizeof *logits);
    int32_t ids[40];
    char text[1024];
    size_t n_ids = 0, n_text = 0, first = 0;
    if (!logits) return 1;
    must(ggufx_tokenize(ids, 40, &n_ids, tokenizer, "Once upon a time", 16,
                        GGUFX_TOKENIZE_ADD_SPECIAL, &error));
    while (n_ids < 40) {
        ggufx_token_facts token = {.struct_size = sizeof token};
        must(ggufx_session_decode(session, ids + first, n_ids - first, NULL, &error));
        must(ggufx_session_logits(logits, info.n_vocab, session, &error));
        first = n_ids;
        must(ggufx_sampler_sample(ids + n_ids, NULL, sampler, logits, info.n_vocab, &error));
        must(ggufx_token_info(&token, tokenizer, ids[n_ids], &error));
        if (token.flags & GGUFX_TOKEN_END) break;
        ++n_ids;
    }
    must(ggufx_detokenize(text, sizeof text, &n_text, tokenizer, ids, n_ids, 0, &error));
    printf("%.*s\n", (int)n_text, text);
    free(logits);
    ggufx_sampler_destroy(sampler); /* in any order: objects keep their dependencies alive */
    ggufx_file_destroy(file);
    ggufx_model_destroy(model);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_session_destroy(session);
    ggufx_runtime_destroy(rt);
    return 0;
}
