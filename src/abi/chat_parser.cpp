// Parser of model output: the second part of include/ggufx/chat.h.
// SPDX-License-Identifier: MIT
#include "abi/chat_handles.hpp"
#include "abi/generator_handle.hpp"
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <ggufx/chat.h>

using namespace ggufx;
using namespace ggufx::abi;

static_assert(GGUFX_CHAT_CALL_TAGGED == static_cast<int>(chat::CallShape::tagged));
static_assert(GGUFX_CHAT_NOTATION_QUOTED == static_cast<int>(chat::Notation::quoted));
static_assert(GGUFX_EVENT_TEXT == static_cast<int>(chat::EventKind::answer));
static_assert(GGUFX_EVENT_TOOL_ID == static_cast<int>(chat::EventKind::id));

extern "C" ggufx_status ggufx_chat_template_info(ggufx_chat_template_facts *out,
                                                 const ggufx_chat_template *chat,
                                                 ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(chat, Tag::chat), "out and chat must be set");
        const chat::OutputFormat &format = *chat->format;
        const chat::CallFormat &call = format.call;
        const auto text = [](std::string_view kept) { return kept.empty() ? "" : kept.data(); };
        ggufx_chat_template_facts facts = {};
        facts.flags = (format.names_tools ? GGUFX_CHAT_TAKES_TOOLS : 0) |
                      (format.has_calls() ? GGUFX_CHAT_CALLS : 0) |
                      (format.n_reasoning > 0 || format.harmony ? GGUFX_CHAT_REASONS : 0) |
                      (format.harmony ? GGUFX_CHAT_CHANNELS : 0);
        facts.call_form = static_cast<uint32_t>(call.shape);
        facts.call_notation = static_cast<uint32_t>(call.notation);
        facts.reasoning_open = format.n_reasoning > 0 ? text(format.reasoning[0].open) : "";
        facts.reasoning_close = format.n_reasoning > 0 ? text(format.reasoning[0].close) : "";
        facts.call_prefix = text(call.prefix);
        facts.call_middle = text(call.middle);
        facts.call_end = text(call.end);
        facts.call_before_key = text(call.before_key);
        facts.call_after_key = text(call.after_key);
        facts.call_after_key_other = text(call.after_key_other);
        facts.call_after_value = text(call.after_value);
        facts.call_quote = text(call.quote);
        export_struct(out, facts, "ggufx_chat_template_facts");
    });
}

// An empty JSON array means no tools.
bool ggufx::abi::has_tools(std::string_view json) {
    size_t n = 0;
    for (const char c : json)
        if (!is_json_space(c) && n++ < 2 && c != "[]"[n - 1]) return true;
    return n > 2;
}

extern "C" ggufx_status ggufx_chat_parser_create(ggufx_chat_parser **out, const ggufx_runtime *rt,
                                                 const ggufx_chat_parser_options *options,
                                                 ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const auto o =
            import_options(options, GGUFX_CHAT_PARSER_NO_CALLS | GGUFX_CHAT_PARSER_KEEP_REASONING,
                           "ggufx_chat_parser_options");
        require(!o.chat || alive(o.chat, Tag::chat), "chat must be a template");
        const chat::ParserOptions parser = {(o.flags & GGUFX_CHAT_PARSER_NO_CALLS) == 0,
                                            (o.flags & GGUFX_CHAT_PARSER_KEEP_REASONING) == 0,
                                            import_text(o.prompt, "prompt"),
                                            import_text(o.tools, "tools")};
        auto format =
            o.chat ? o.chat->format
                   : Ref<chat::OutputFormat>::adopt(make<chat::OutputFormat>(*rt->host, rt->host));
        if (parser.calls && has_tools(parser.tools) && !format->has_calls())
            fail(Status::unsupported, {},
                 "the template does not show how its models write tool calls (use a template that "
                 "does, or GGUFX_CHAT_PARSER_NO_CALLS)");
        *out = make<ggufx_chat_parser>(*rt->host, rt->host, std::move(format), parser);
    });
}

void ggufx_chat_parser::add_event(void *queue, uint32_t kind, uint64_t call,
                                  std::string_view text) {
    generate::Event event;
    event.kind = static_cast<generate::EventKind>(kind);
    event.index = static_cast<uint32_t>(call);
    event.text = text;
    static_cast<generate::EventQueue *>(queue)->add(event, 0);
}

extern "C" void ggufx_chat_parser_destroy(ggufx_chat_parser *parser) {
    const NoCancel whole;
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

extern "C" ggufx_status ggufx_chat_parser_poll(ggufx_event *out, ggufx_chat_parser *parser,
                                               ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(parser, Tag::chat_parser), "out and parser must be set");
        check_output(out, "ggufx_event");
        generate::Event event;
        (void)parser->queue.take(event);
        put_event(out, event);
    });
}

extern "C" ggufx_status ggufx_chat_parser_info(ggufx_chat_parser_facts *out,
                                               const ggufx_chat_parser *parser,
                                               ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(parser, Tag::chat_parser), "out and parser must be set");
        const std::string_view close = parser->parser.reasoning_close();
        ggufx_chat_parser_facts facts = {};
        facts.flags = close.empty() ? 0 : GGUFX_CHAT_PARSER_REASONING;
        facts.reasoning_close = close.empty() ? "" : close.data();
        facts.n_calls = parser->parser.n_calls();
        export_struct(out, facts, "ggufx_chat_parser_facts");
    });
}
