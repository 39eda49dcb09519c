/* Structured output: constrained decoding of JSON that matches a JSON Schema.
 * SPDX-License-Identifier: MIT */
#include "example.h"

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
    ggufx_grammar *grammar = NULL;
    ggufx_generator *generator = NULL;
    const ggufx_grammar_options schema = {.struct_size = sizeof schema,
                                          .kind = GGUFX_GRAMMAR_JSON_SCHEMA,
                                          .flags = GGUFX_GRAMMAR_COMPACT,
                                          .text = {kSchema, sizeof kSchema - 1}};
    ggufx_generator_options options = {.struct_size = sizeof options};
    const ggufx_prompt prompt = {.struct_size = sizeof prompt, .text = {"Once upon a time", 16}};
    ggufx_event event = {.struct_size = sizeof event};
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_tokenizer_create(&tokenizer, file, &error));
    must(ggufx_session_create(&session, model, NULL, &error));
    must(ggufx_grammar_create(&grammar, rt, tokenizer, &schema, &error));
    options.grammar = grammar;
    must(ggufx_generator_create(&generator, session, &options, &error));
    must(ggufx_generator_set_prompt(generator, &prompt, &error));
    while (event.kind != GGUFX_EVENT_END) {
        must(ggufx_generator_next(&event, generator, NULL, &error));
        if (event.kind == GGUFX_EVENT_TEXT) fwrite(event.text.data, 1, event.text.size, stdout);
    }
    printf("\n");
    ggufx_generator_destroy(generator);
    ggufx_grammar_destroy(grammar);
    ggufx_session_destroy(session);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
