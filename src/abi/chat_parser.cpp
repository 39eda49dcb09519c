// Output of models told apart: the second part of include/ggufx/chat.h.
// SPDX-License-Identifier: MIT
#include "abi/chat_handles.hpp"
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <ggufx/chat.h>

using namespace ggufx;
using namespace ggufx::abi;

static_assert(GGUFX_CHAT_STYLE_THINK == chat::style::think);
static_assert(GGUFX_CHAT_STYLE_BRACKET == chat::style::bracket);
static_assert(GGUFX_CHAT_STYLE_GEMMA == chat::style::gemma);
static_assert(GGUFX_CHAT_STYLE_HARMONY == chat::style::harmony);
static_assert(GGUFX_CHAT_STYLE_HERMES == chat::style::hermes);
static_assert(GGUFX_CHAT_STYLE_XML == chat::style::xml);
static_assert(GGUFX_CHAT_STYLE_MISTRAL == chat::style::mistral);
static_assert(GGUFX_CHAT_STYLE_LLAMA3 == chat::style::llama3);

extern "C" uint32_t ggufx_chat_styles(const ggufx_chat *chat) {
    return alive(chat, Tag::chat) ? chat::styles_of(chat->program.source()) : 0;
}

extern "C" void ggufx_chat_parser_options_init(ggufx_chat_parser_options *options) {
    init_options(options);
}

extern "C" ggufx_status ggufx_chat_parser_create(ggufx_chat_parser **out, const ggufx_runtime *rt,
                                                 const ggufx_chat_parser_options *options,
                                                 ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const auto o = import_options(options, 0, "ggufx_chat_parser_options");
        require(o.event, "event must be set");
        require((o.prompt || o.prompt_length == 0) && (o.tools || o.tools_length == 0),
                "prompt and tools must be set where they have a length");
        if (o.styles & ~chat::style::all)
            fail(Status::argument, {}, "unknown styles 0x%x", o.styles & ~chat::style::all);
        const std::string_view prompt(o.prompt ? o.prompt : "", o.prompt_length);
        const std::string_view tools(o.tools ? o.tools : "", o.tools_length);
        *out = make<ggufx_chat_parser>(*rt->host, rt->host, o.styles, prompt, tools,
                                       chat::Sink{o.user, o.event});
    });
}

extern "C" void ggufx_chat_parser_destroy(ggufx_chat_parser *parser) {
    if (!alive(parser, Tag::chat_parser)) return;
    destroy_object(parser->parser.host(), parser);
}

extern "C" ggufx_status ggufx_chat_parser_feed(ggufx_chat_parser *parser, const char *text,
                                               size_t length, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(parser, Tag::chat_parser), "parser must be set");
        require(text || length == 0, "text must be set");
        if (length > 0) parser->parser.feed({text, length});
    });
}

extern "C" ggufx_status ggufx_chat_parser_finish(ggufx_chat_parser *parser, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(parser, Tag::chat_parser), "parser must be set");
        parser->parser.finish();
    });
}
