/* Structured output: constrained decoding of JSON that matches a JSON Schema.
 * SPDX-License-Identifier: MIT */
#include "example.h"

enum { kMost = 256 };

static const char kSchema[] = "{\"type\": \"object\", \"additionalProperties\": false,"
                              "\"required\": [\"name\", \"age\", \"likes\"], \"properties\": {"
                              "\"name\": {\"enum\": [\"Nib\", \"Tom\"]},"
                              "\"age\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 9},"
                              "\"likes\": {\"type\": \"array\", \"maxItems\": 2, \"items\": "
                              "{\"enum\": [\"books\", \"sun\"]}}}}";

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    ggufx_model *model = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_session *session = NULL;
    ggufx_sampler *sampler = NULL;
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *matcher = NULL;
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_tokenizer_create(&tokenizer, file, &error));
    must(ggufx_session_create(&session, model, NULL, &error));
    ggufx_model_facts info = {.struct_size = sizeof info};
    must(ggufx_model_info(&info, model, &error));
    must(ggufx_sampler_create(&sampler, rt, info.n_vocab, NULL, &error));
    ggufx_grammar_options options = {.struct_size = sizeof options};
    options.kind = GGUFX_GRAMMAR_JSON_SCHEMA;
    options.flags = GGUFX_GRAMMAR_COMPACT;
    options.text = (ggufx_text){kSchema, sizeof kSchema - 1};
    must(ggufx_grammar_create(&grammar, rt, tokenizer, &options, &error));
    must(ggufx_matcher_create(&matcher, grammar, &error));
    float *logits = malloc(info.n_vocab * sizeof *logits);
    int32_t prompt[16], ids[kMost];
    size_t n_prompt = 0, n = 0, n_text = 0;
    char text[1024];
    if (!logits) return 1;
    must(ggufx_tokenize(prompt, 16, &n_prompt, tokenizer, "Once upon a time", 16,
                        GGUFX_TOKENIZE_ADD_SPECIAL, &error));
    must(ggufx_session_decode(session, prompt, n_prompt, NULL, &error));
    ggufx_matcher_facts at = {.struct_size = sizeof at};
    while (n < kMost) {
        must(ggufx_session_logits(logits, info.n_vocab, session, &error));
        must(ggufx_sampler_sample_matching(ids + n, NULL, sampler, matcher, logits, info.n_vocab,
                                           &error));
        must(ggufx_matcher_info(&at, matcher, &error));
        if (at.flags & GGUFX_MATCHER_ENDED) break;
        must(ggufx_session_decode(session, ids + n++, 1, NULL, &error));
    }
    must(ggufx_detokenize(text, sizeof text, &n_text, tokenizer, ids, n, 0, &error));
    printf("%.*s\n", (int)n_text, text);
    free(logits);
    ggufx_matcher_destroy(matcher);
    ggufx_grammar_destroy(grammar);
    ggufx_sampler_destroy(sampler);
    ggufx_session_destroy(session);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
