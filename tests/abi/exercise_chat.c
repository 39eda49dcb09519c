/*
 * The chat template and chat output part of the run, for exercise.h.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "exercise.h"

#include <string.h>

static ggufx_status run_render(exercise *e, const ggufx_chat_template *chat) {
    static const char json[] = "[{\"role\":\"user\",\"content\":\"Hi\"}]";
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_span runs[16];
    char text[512];
    size_t n = 0, n_runs = 0;
    request.flags = GGUFX_CHAT_GENERATE | GGUFX_CHAT_CLOCK;
    request.messages_json = text_of(json);
    TRY(a->chat_template_render(text, sizeof text, &n, chat, &request, &e->error));
    TRY(a->chat_template_spans(runs, 16, &n_runs, chat, &request, &e->error));
    MUST(n > 0 && n_runs > 0 && runs[n_runs - 1].end == n);
    exercise_mix(e, text, n, 1);
end:
    return status;
}

static ggufx_status run_parser(exercise *e, const ggufx_runtime *rt,
                               const ggufx_chat_template *chat) {
    static const char said[] =
        "<think>hm</think>Hi<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_chat_parser *parser = NULL;
    ggufx_chat_parser_options options = {.struct_size = sizeof options};
    ggufx_chat_parser_facts facts = {.struct_size = sizeof facts};
    ggufx_event event = {.struct_size = sizeof event};
    options.chat = chat;
    TRY(a->chat_parser_create(&parser, rt, &options, &e->error));
    TRY(a->chat_parser_feed(parser, said, 20, &e->error));
    TRY(a->chat_parser_feed(parser, said + 20, sizeof said - 21, &e->error));
    TRY(a->chat_parser_finish(parser, &e->error));
    do {
        TRY(a->chat_parser_poll(&event, parser, &e->error));
        exercise_mix(e, &event.kind, 1, 4);
        exercise_mix(e, &event.index, 1, 4);
        exercise_mix(e, event.text.data, event.text.size, 1);
    } while (event.kind != GGUFX_EVENT_NONE);
    TRY(a->chat_parser_info(&facts, parser, &e->error));
    MUST(facts.n_calls == 1 && facts.flags == 0);
end:
    a->chat_parser_destroy(parser);
    return status;
}

ggufx_status exercise_chat(exercise *e, const ggufx_runtime *rt) {
    static const char text[] =
        "{% for m in messages %}<think><tool_call>{{ m.content | tojson }}{{ 1.5 ** 2 }}"
        "{{ strftime_now('%Y') }}{% endfor %}{{ add_generation_prompt }}";
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_chat_template *own = NULL, *format = NULL;
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_template_facts facts = {.struct_size = sizeof facts};
    options.text = text_of(text);
    TRY(a->chat_template_create(&own, rt, NULL, &options, &e->error));
    TRY(a->chat_template_info(&facts, own, &e->error));
    MUST(facts.flags == (GGUFX_CHAT_CALLS | GGUFX_CHAT_REASONS));
    MUST(facts.call_form == GGUFX_CHAT_CALL_OBJECT && facts.call_prefix[0] == '<');
    TRY(run_render(e, own));
    options.text = (ggufx_text){NULL, 0};
    options.format.data = a->chat_template_builtin_name(0);
    MUST(options.format.data && !a->chat_template_builtin_name(SIZE_MAX));
    options.format.size = strlen(options.format.data);
    TRY(a->chat_template_create(&format, rt, NULL, &options, &e->error));
    TRY(run_render(e, format));
    TRY(run_parser(e, rt, own));
end:
    a->chat_template_destroy(own);
    a->chat_template_destroy(format);
    return status;
}

/* A conversation whose output is JSON of a schema. */
static ggufx_status use_prompt(exercise *e, const ggufx_chat_template *chat,
                               const ggufx_tokenizer *tokenizer,
                               const ggufx_chat_request *request) {
    static const char schema[] = "{\"enum\":[1,23]}";
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_chat_prompt *prompt = NULL;
    const ggufx_chat_prompt_options options = {.struct_size = sizeof options,
                                               .flags = GGUFX_CHAT_PROMPT_ONE_CALL,
                                               .chat = chat,
                                               .tokenizer = tokenizer,
                                               .request = request,
                                               .schema = {schema, sizeof schema - 1}};
    int32_t ids[64];
    size_t n = 0;
    TRY(a->chat_prompt_create(&prompt, &options, &e->error));
    TRY(a->chat_prompt_tokens(ids, 64, &n, prompt, &e->error));
    MUST(n > 3);
    exercise_mix(e, ids, n, sizeof *ids);
end:
    a->chat_prompt_destroy(prompt);
    return status;
}

ggufx_status exercise_chat_tokens(exercise *e, const ggufx_runtime *rt, const ggufx_file *file) {
    static const char text[] = "<s>{{ messages[0].content }}</s>";
    static const char json[] = "[{\"content\":\"Hi </s>\"}]";
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_chat_template *chat = NULL;
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    int32_t ids[64];
    size_t n = 0;
    options.text = text_of(text);
    request.messages_json = text_of(json);
    TRY(a->tokenizer_create(&tokenizer, file, &e->error));
    TRY(a->chat_template_create(&chat, rt, NULL, &options, &e->error));
    TRY(a->chat_template_tokenize(ids, 64, &n, chat, tokenizer, &request, 0, &e->error));
    MUST(n > 3);
    for (size_t i = 1; i + 1 < n; i++) MUST(ids[i] != ids[n - 1]); /* only the template adds </s> */
    TRY(use_prompt(e, chat, tokenizer, &request));
end:
    a->chat_template_destroy(chat);
    a->tokenizer_destroy(tokenizer);
    return status;
}
