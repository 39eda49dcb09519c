// Classifies special tokens by the template's format and by probes of its parser and its turns.
// SPDX-License-Identifier: MIT
#include "generate/chat/output_tokens.hpp"

#include "chat/output.hpp"

#include <algorithm>

namespace ggufx::generate {

namespace {

using Chars = Vector<char>;

void append(Chars &out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

std::string_view view(const Chars &text) {
    return {text.data(), text.size()};
}

constexpr std::string_view kChannelMarkers[] = {"<|start|>",     "<|channel|>", "<|message|>",
                                                "<|constrain|>", "<|end|>",     "<|call|>",
                                                "<|return|>"};

} // namespace

// Markers of a template, including texts that its parser holds back or consumes.
class OutputTokens::Markers {
public:
    Markers(const Ref<Host> &host, const Ref<chat::OutputFormat> &format)
        : host_(host), format_(format), reasoning_(HostAllocator<char>(host.get())),
          calls_(HostAllocator<char>(host.get())) {
        if (format->n_reasoning > 0) {
            add(reasoning_, format->reasoning[0].open);
            add(reasoning_, format->reasoning[0].close);
        }
        if (format->harmony)
            for (const std::string_view marker : kChannelMarkers) add(reasoning_, marker);
        const chat::CallFormat &call = format->call;
        for (const std::string_view text :
             {call.prefix, call.middle, call.end, call.before_key, call.after_key,
              call.after_key_other, call.after_value, call.quote})
            add(calls_, text);
    }

    bool is_marker(std::string_view text) {
        return view(reasoning_).find(text) != std::string_view::npos || takes(text, false);
    }
    bool is_channel_marker(std::string_view text) const {
        return format_->harmony && std::find(std::begin(kChannelMarkers), std::end(kChannelMarkers),
                                             text) != std::end(kChannelMarkers);
    }
    bool is_call_marker(std::string_view text) {
        return view(calls_).find(text) != std::string_view::npos || takes(text, true);
    }

private:
    static void add(Chars &out, std::string_view text) {
        append(out, text);
        out.push_back('\n');
    }
    // Feeds a new parser; returns whether all of the text is answer. A marker that closes its
    // reasoning is added.
    bool is_answer(std::string_view text, bool calls) {
        Chars answer{HostAllocator<char>(host_.get())};
        chat::ParserOptions options;
        options.calls = calls;
        const chat::Sink sink = {&answer,
                                 [](void *user, uint32_t kind, uint64_t, std::string_view piece) {
                                     if (kind == static_cast<uint32_t>(chat::EventKind::answer))
                                         append(*static_cast<Chars *>(user), piece);
                                 }};
        chat::OutputParser parser(host_, format_, options, sink);
        parser.feed(text);
        closes_ = parser.reasoning_close();
        return view(answer) == text;
    }
    bool takes(std::string_view text, bool calls) {
        Chars begun{HostAllocator<char>(host_.get())}, inner(begun);
        append(begun, text);
        append(begun, " yes");
        append(inner, "No ");
        append(inner, view(begun));
        const bool is_first = is_answer(view(begun), calls);
        add(reasoning_, closes_);
        return !is_first || !is_answer(view(inner), calls);
    }

    Ref<Host> host_;
    Ref<chat::OutputFormat> format_;
    Chars reasoning_, calls_;
    std::string_view closes_;
};

OutputTokens::OutputTokens(const Ref<Host> &host, const chat::Template &chat,
                           const Ref<chat::OutputFormat> &format, const model::Tokenizer &tokenizer)
    : host_(host), entries_(HostAllocator<Entry>(host.get())) {
    Markers markers(host, format);
    add_tokens(markers, tokenizer.vocab());
    add_turns(chat, tokenizer, format->call);
}

void OutputTokens::add_tokens(Markers &markers, const model::Vocab &vocab) {
    for (size_t i = 0; i < vocab.size(); i++) {
        const model::Token &token = vocab[i];
        const std::string_view text = token.view();
        const auto id = static_cast<int32_t>(i);
        if (token.kind == model::TokenKind::control || token.kind == model::TokenKind::unknown)
            entries_.push_back({id, text.empty()                   ? Kind::other
                                    : markers.is_marker(text)      ? Kind::marker
                                    : markers.is_call_marker(text) ? Kind::call_marker
                                                                   : Kind::other});
        // Channel markers are text if the template has no channels.
        else if (token.kind == model::TokenKind::user && markers.is_channel_marker(text))
            entries_.push_back({id, Kind::marker});
    }
}

namespace {

// Chars between two contents of a conversation.
struct Turn {
    std::string_view messages, after, before;
};
constexpr Turn kTurns[] = {
    {R"([{"role":"system","content":"probeone"},{"role":"user","content":"probetwo"}])", "",
     "probeone"},
    {(R"([{"role":"user","content":"probeone"},{"role":"assistant","content":"probetwo"},)"
      R"({"role":"user","content":"probethree"}])"),
     "probetwo", "probethree"},
    {R"([{"role":"user","content":"probeone"}])", "", "probeone"},
    {(R"([{"role":"user","content":"probeone"},{"role":"assistant","content":"","tool_calls":)"
      R"([{"id":"call00001","type":"function","function":{"name":"probetwo","arguments":{}}}]},)"
      R"({"role":"tool","tool_call_id":"call00001","name":"probetwo","content":"probethree"}])"),
     "probetwo", "probethree"},
};

// Returns the rendered text of a turn; empty if the template refuses its conversation.
std::string_view render_turn(chat::Output &out, const chat::Template &chat,
                             const chat::CallFormat &calls, const Turn &turn) {
    chat::Request request;
    request.messages_json = turn.messages;
    request.has_clock = true;
    request.calls = &calls;
    try {
        chat.render(out, request);
    } catch (const Error &) { return {}; }
    const std::string_view text(out.text.data(), out.text.size());
    const size_t end = text.rfind(turn.before);
    if (end == text.npos) return {};
    const size_t from = turn.after.empty() ? 0 : text.rfind(turn.after, end);
    if (from == text.npos) return {};
    const size_t first = from + turn.after.size();
    return text.substr(first, end - first);
}

} // namespace

void OutputTokens::add_turns(const chat::Template &chat, const model::Tokenizer &tokenizer,
                             const chat::CallFormat &calls) {
    model::TokenizeOptions options;
    options.parse_special = true;
    for (const Turn &turn : kTurns) {
        chat::Output output(host_.get());
        model::Ids ids(host_.get());
        tokenizer.tokenize(ids, render_turn(output, chat, calls, turn), options);
        for (size_t i = 0; i < ids.size(); i++) {
            auto *const entry = const_cast<Entry *>(find(ids[i]));
            if (entry && entry->kind == Kind::other && entry->id != tokenizer.vocab().bos())
                entry->kind = Kind::turn;
        }
    }
}

const OutputTokens::Entry *OutputTokens::find(int32_t id) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), id,
                                     [](const Entry &entry, int32_t of) { return entry.id < of; });
    return at != entries_.end() && at->id == id ? &*at : nullptr;
}

TokenUse OutputTokens::use(int32_t id, bool has_calls) const {
    const Entry *const entry = find(id);
    if (!entry) return TokenUse::text;
    if (entry->kind == Kind::marker || (has_calls && entry->kind == Kind::call_marker))
        return TokenUse::marker;
    return entry->kind == Kind::turn ? TokenUse::end : TokenUse::hidden;
}

} // namespace ggufx::generate
