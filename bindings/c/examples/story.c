/* Greedy generation: a prompt, then the events of a generator.
 * SPDX-License-Identifier: MIT */
#include "example.h"

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_generator *generator = NULL;
    const ggufx_generator_options options = {.struct_size = sizeof options, .max_tokens = 34};
    const ggufx_prompt prompt = {.struct_size = sizeof prompt, .text = {"Once upon a time", 16}};
    ggufx_event event = {.struct_size = sizeof event};
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_session_create(&session, model, NULL, &error));
    must(ggufx_generator_create(&generator, session, &options, &error));
    must(ggufx_generator_set_prompt(generator, &prompt, &error));
    printf("%s", prompt.text.data);
    while (event.kind != GGUFX_EVENT_END) {
        must(ggufx_generator_next(&event, generator, NULL, &error));
        if (event.kind == GGUFX_EVENT_TEXT) fwrite(event.text.data, 1, event.text.size, stdout);
    }
    printf("\n");
    ggufx_file_destroy(file); /* in any order: objects keep their dependencies alive */
    ggufx_model_destroy(model);
    ggufx_session_destroy(session);
    ggufx_generator_destroy(generator);
    ggufx_runtime_destroy(rt);
    return 0;
}
