// See prefill.hpp.
// SPDX-License-Identifier: MIT
#include "models/prefill.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

// Returns the length of the common prefix, up to the end of a marker or line.
size_t same_bytes(const std::string &a, const std::string &b) {
    size_t n = static_cast<size_t>(
        std::mismatch(a.begin(),
                      a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                      b.begin())
            .first -
        a.begin());
    if (n == a.size()) return n;
    while (n > 0 && a[n - 1] != '\n' && a[n - 1] != '>' && a[n - 1] != ']') n--;
    return n;
}

// Returns the marker that closes reasoning which the message left open.
std::string open_reasoning(const ggufx_runtime *rt, const ggufx_chat *chat,
                           const std::string &prompt, const std::string &message) {
    auto options = sized<ggufx_chat_parser_options>();
    options.chat = chat;
    options.flags = GGUFX_CHAT_PARSER_NO_CALLS;
    options.prompt = prompt.data();
    options.prompt_length = prompt.size();
    options.event = [](void *, uint32_t, uint64_t, const char *, size_t) -> int32_t { return 0; };
    ggufx_chat_parser *made = nullptr;
    call([&](ggufx_error *error) { return ggufx_chat_parser_create(&made, rt, &options, error); });
    const std::unique_ptr<ggufx_chat_parser, Destroyer<ggufx_chat_parser_destroy>> parser(made);
    call([&](ggufx_error *error) {
        return ggufx_chat_parser_feed(parser.get(), message.data(), message.size(), error);
    });
    return facts<ggufx_chat_parser_facts>([&](ggufx_chat_parser_facts *out, ggufx_error *error) {
               return ggufx_chat_parser_info(out, parser.get(), error);
           })
        .reasoning_close;
}

} // namespace

OutputStart output_start(const ggufx_runtime *rt, const ggufx_chat *chat, const std::string &empty,
                         const std::string &continued) {
    const auto about = facts<ggufx_chat_facts>([&](ggufx_chat_facts *out, ggufx_error *error) {
        return ggufx_chat_info(out, chat, error);
    });
    OutputStart out = {continued, ""};
    if ((about.flags & GGUFX_CHAT_CHANNELS) != 0) { // the header of the continued message
        constexpr std::string_view start = "<|start|>assistant", body = "<|message|>";
        const size_t header = continued.rfind(start), end = continued.find(body, header);
        if (header != continued.npos && end != continued.npos)
            out.begun =
                continued.substr(header + start.size(), end + body.size() - header - start.size());
        return out;
    }
    const size_t n = same_bytes(empty, continued);
    const std::string close = open_reasoning(rt, chat, continued.substr(0, n), continued.substr(n));
    if (!close.empty() && close == about.reasoning_close) out.prompt += about.reasoning_open;
    return out;
}

} // namespace ggufx::cli
