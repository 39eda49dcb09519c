// SPDX-License-Identifier: MIT
#include "serve/answer_plan.hpp"

namespace ggufx::cli {

namespace {

using Ids = std::vector<int32_t>;

Ids marker(const ModelHost &host, const std::string &text) {
    return text.empty() ? Ids() : host.tokenize(text, GGUFX_TOKENIZE_PARSE_SPECIAL);
}

std::string without_space(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == text.npos
               ? ""
               : std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

bool ends_with_marker(const std::string &prompt, const char *text) {
    return *text != '\0' && without_space(prompt).ends_with(text);
}

// Sets how the output starts after the prompt: inside a reasoning section, or where the model may
// open one.
void plan_reasoning(AnswerPlan &out, const ModelHost &host, const Prompt &prompt,
                    bool answers_at_once) {
    const ggufx_chat_facts &facts = host.chat_facts();
    if ((facts.flags & GGUFX_CHAT_CHANNELS) != 0) {
        const std::string after = "<|start|>assistant";
        if (answers_at_once) return;
        out.begun = "<|channel|>analysis<|message|>";
        out.prompt = marker(host, out.begun);
        out.reasons = true;
        Ids ids = marker(host, after);
        out.opening.insert(out.opening.begin(), ids.begin(), ids.end());
        return;
    }
    const std::string close = host.reasoning_close(prompt.text);
    if (!close.empty()) {
        out.reasons = !answers_at_once;
        if (!answers_at_once) return;
        const Ids ids = marker(host, close + "\n\n");
        out.opening.insert(out.opening.begin(), ids.begin(), ids.end());
        return;
    }
    if (answers_at_once || ends_with_marker(prompt.text, facts.reasoning_close)) return;
    const Ids open = marker(host, facts.reasoning_open);
    if (open.size() == 1) out.reasoning_open = open[0];
}

} // namespace

AnswerPlan plan_answer(const ModelHost &host, const ChatWanted &wanted, const Prompt &prompt,
                       uint64_t asker) {
    AnswerPlan out;
    if (wanted.form == AnswerForm::text && wanted.forced.empty()) return out;
    const bool has_channels = (host.chat_facts().flags & GGUFX_CHAT_CHANNELS) != 0;
    const uint32_t flags = wanted.sampling.grammar_flags;
    size_t n_bytes = wanted.forced.empty() ? wanted.schema.size() : 0;
    for (const Callable &function : wanted.forced) n_bytes += function.schema.size();
    SchemaCompiler grammars(host.grammars(), host.tokenizer(), asker, flags, n_bytes);
    if (!wanted.forced.empty()) {
        out.call = plan_call(host, grammars, wanted.forced);
        out.opening = call_opening(host, *out.call);
    } else {
        out.json = grammars.of_schema(wanted.schema, {"response_format", ""});
        if (has_channels) out.opening = marker(host, "<|channel|>final<|message|>");
    }
    if (out.json && !wanted.tools.empty()) {
        const Ids call = marker(host, without_space(call_syntax(host.chat_facts(), "").prefix));
        const std::string text = call.empty() ? "" : host.piece(call[0]);
        if (has_channels || text.empty() || text[0] == '{')
            throw ApiError(400,
                           "response_format with tools needs a chat template whose tool calls "
                           "begin with a marker",
                           "response_format", "unsupported");
        out.call_open = call[0];
    }
    plan_reasoning(out, host, prompt, wanted.thinks == false);
    // Without reasoning the forced opening becomes part of the prompt and is prefilled with it.
    if (!out.reasons && !out.reasoning_open && !out.call_open) {
        out.prompt = std::move(out.opening);
        out.opening.clear();
    }
    return out;
}

} // namespace ggufx::cli
