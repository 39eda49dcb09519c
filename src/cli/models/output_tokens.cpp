// Classifies special tokens by the template's facts and by probes of its parser and its turns.
// SPDX-License-Identifier: MIT
#include "models/output_tokens.hpp"

#include "models/text_model.hpp"

#include <algorithm>
#include <initializer_list>

namespace ggufx::cli {

namespace {

using Parser = std::unique_ptr<ggufx_chat_parser, Destroyer<ggufx_chat_parser_destroy>>;

constexpr const char *kChannelMarkers[] = {"<|start|>",     "<|channel|>", "<|message|>",
                                           "<|constrain|>", "<|end|>",     "<|call|>",
                                           "<|return|>"};

// Result of parsing a token's text with a new parser.
struct Probe {
    std::string answer, reasoning_close;
    bool is_plain(const std::string &text) const { return answer == text; }
};

Probe probe(const ggufx_runtime *rt, const ggufx_chat *chat, const std::string &text, bool calls) {
    Probe out;
    auto options = sized<ggufx_chat_parser_options>();
    options.chat = chat;
    options.flags = calls ? 0 : GGUFX_CHAT_PARSER_NO_CALLS;
    options.user = &out;
    options.event = [](void *user, uint32_t kind, uint64_t, const char *piece,
                       size_t length) -> int32_t {
        if (kind == GGUFX_CHAT_ANSWER) static_cast<Probe *>(user)->answer.append(piece, length);
        return 0;
    };
    ggufx_chat_parser *made = nullptr;
    call([&](ggufx_error *error) { return ggufx_chat_parser_create(&made, rt, &options, error); });
    const Parser parser(made);
    call([&](ggufx_error *error) {
        return ggufx_chat_parser_feed(parser.get(), text.data(), text.size(), error);
    });
    const auto info =
        facts<ggufx_chat_parser_facts>([&](ggufx_chat_parser_facts *of, ggufx_error *e) {
            return ggufx_chat_parser_info(of, parser.get(), e);
        });
    out.reasoning_close = info.reasoning_close;
    return out;
}

// Markers of a template, including texts that its parser holds back or consumes.
class Markers {
public:
    Markers(const ggufx_runtime *rt, const ggufx_chat *chat) : rt_(rt), chat_(chat) {
        const auto of = facts<ggufx_chat_facts>([&](ggufx_chat_facts *out, ggufx_error *error) {
            return ggufx_chat_info(out, chat, error);
        });
        reasoning_ = std::string(of.reasoning_open) + '\n' + of.reasoning_close + '\n';
        has_channels_ = (of.flags & GGUFX_CHAT_CHANNELS) != 0;
        if (has_channels_)
            for (const char *const marker : kChannelMarkers)
                reasoning_ += std::string(marker) + '\n';
        for (const char *const text :
             {of.call_prefix, of.call_middle, of.call_end, of.call_before_key, of.call_after_key,
              of.call_after_key_other, of.call_after_value, of.call_quote})
            calls_ += std::string(text) + '\n';
    }

    bool is_marker(const std::string &text) {
        return reasoning_.find(text) != std::string::npos || takes(text, false);
    }
    bool is_channel_marker(const std::string &text) const {
        return has_channels_ && std::find(std::begin(kChannelMarkers), std::end(kChannelMarkers),
                                          text) != std::end(kChannelMarkers);
    }
    bool is_call_marker(const std::string &text) {
        return calls_.find(text) != std::string::npos || takes(text, true);
    }

private:
    bool takes(const std::string &text, bool calls) {
        const std::string begun = text + " yes", inner = "No " + text + " yes";
        const Probe first = probe(rt_, chat_, begun, calls);
        reasoning_ += first.reasoning_close + '\n';
        return !first.is_plain(begun) || !probe(rt_, chat_, inner, calls).is_plain(inner);
    }

    const ggufx_runtime *rt_;
    const ggufx_chat *chat_;
    std::string reasoning_, calls_;
    bool has_channels_ = false;
};

// Texts between the contents of a conversation, with the tokens that open turns of other roles.
class Turns {
public:
    explicit Turns(const ggufx_chat *chat) : chat_(chat) {
        add(R"([{"role":"system","content":"probeone"},{"role":"user","content":"probetwo"}])", "",
            "probeone");
        add(R"([{"role":"user","content":"probeone"},{"role":"assistant","content":"probetwo"},)"
            R"({"role":"user","content":"probethree"}])",
            "probetwo", "probethree");
        add(R"([{"role":"user","content":"probeone"}])", "", "probeone");
        add(R"([{"role":"user","content":"probeone"},{"role":"assistant","content":"","tool_calls":)"
            R"([{"id":"call00001","type":"function","function":{"name":"probetwo","arguments":{}}}]},)"
            R"({"role":"tool","tool_call_id":"call00001","name":"probetwo","content":"probethree"}])",
            "probetwo", "probethree");
    }
    const std::vector<std::string> &texts() const { return texts_; }

private:
    void add(std::string_view messages, std::string_view after, std::string_view before) {
        auto request = sized<ggufx_chat_request>();
        request.messages_json = messages.data();
        request.messages_json_length = messages.size();
        request.flags = GGUFX_CHAT_CLOCK;
        std::string text(size_t{1} << 16, '\0');
        size_t needed = 0;
        const ggufx_status status = ggufx_chat_render(text.data(), text.size(), &needed, nullptr, 0,
                                                      nullptr, chat_, &request, nullptr);
        if (status != GGUFX_OK) return; // the template rejects this conversation
        text.resize(needed);
        const size_t end = text.rfind(before);
        if (end == text.npos) return;
        const size_t from = after.empty() ? 0 : text.rfind(after, end);
        if (from == text.npos) return;
        texts_.push_back(text.substr(from + after.size(), end - from - after.size()));
    }

    const ggufx_chat *chat_;
    std::vector<std::string> texts_;
};

} // namespace

OutputTokens::OutputTokens(const ggufx_runtime *rt, const ggufx_chat *chat,
                           const ggufx_tokenizer *tokenizer) {
    Markers markers(rt, chat);
    const Turns turns(chat);
    const auto about = facts<ggufx_tokenizer_facts>([&](ggufx_tokenizer_facts *of, ggufx_error *e) {
        return ggufx_tokenizer_info(of, tokenizer, e);
    });
    for (uint32_t i = 0; i < about.n_tokens; i++) {
        const auto id = static_cast<int32_t>(i);
        const auto info = facts<ggufx_token_facts>([&](ggufx_token_facts *of, ggufx_error *error) {
            return ggufx_token_info(of, tokenizer, id, error);
        });
        const std::string text(info.text, info.text_length);
        if ((info.flags & (GGUFX_TOKEN_CONTROL | GGUFX_TOKEN_UNKNOWN)) == 0) {
            // Channel markers are text if the template has no channels.
            if ((info.flags & GGUFX_TOKEN_USER) != 0 && markers.is_channel_marker(text))
                kinds_[id] = Kind::marker;
            continue;
        }
        kinds_[id] = text.empty()                   ? Kind::other
                     : markers.is_marker(text)      ? Kind::marker
                     : markers.is_call_marker(text) ? Kind::call_marker
                                                    : Kind::other;
    }
    for (const std::string &turn : turns.texts())
        for (const int32_t id : tokenize(tokenizer, turn, GGUFX_TOKENIZE_PARSE_SPECIAL))
            if (const auto found = kinds_.find(id);
                found != kinds_.end() && found->second == Kind::other && id != about.bos)
                found->second = Kind::turn;
}

bool OutputTokens::is_marker(int32_t id, bool has_calls) const {
    const auto found = kinds_.find(id);
    return found != kinds_.end() &&
           (found->second == Kind::marker || (has_calls && found->second == Kind::call_marker));
}

std::string StrayMarkers::without(std::string_view text) {
    std::string out;
    while (!markers_.empty()) {
        const size_t at = text.find(markers_.front());
        if (at != text.npos) {
            out += text.substr(0, at);
            text.remove_prefix(at + markers_.front().size());
        } else if (n_settled_ == 0) {
            break; // the marker is being fed
        }
        markers_.pop_front();
        if (n_settled_ > 0) n_settled_--;
    }
    return out += text;
}

OutputTokens::Use OutputTokens::use(int32_t id, bool has_calls) const {
    const auto found = kinds_.find(id);
    if (found == kinds_.end() || is_marker(id, has_calls)) return Use::text;
    return found->second == Kind::turn ? Use::end : Use::hidden;
}

} // namespace ggufx::cli
