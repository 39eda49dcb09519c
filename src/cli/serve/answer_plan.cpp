// SPDX-License-Identifier: MIT
#include "serve/answer_plan.hpp"

namespace ggufx::cli {

namespace {

struct Marks {
    std::string_view open, behind; // of a function's name
};

// Whether a text is a token of its own.
bool is_token(const ModelHost &host, const std::string &text) {
    return host.tokenize(text, GGUFX_TOKENIZE_PARSE_SPECIAL).size() == 1;
}

// How the models of a template write calls; those of none as the plainest of them.
Marks marks_of(const ModelHost &host, bool has_name) {
    const auto has = [&](uint32_t style) { return (host.styles() & style) != 0; };
    if (has(GGUFX_CHAT_STYLE_HARMONY))
        return {"<|channel|>commentary to=functions.", " <|constrain|>json<|message|>"};
    if (has(GGUFX_CHAT_STYLE_MISTRAL) && has_name && is_token(host, "[ARGS]"))
        return {"[TOOL_CALLS]", "[ARGS]"};
    if (has(GGUFX_CHAT_STYLE_MISTRAL)) return {"[TOOL_CALLS][{\"name\": \"", "\", \"arguments\": "};
    if (has(GGUFX_CHAT_STYLE_LLAMA3)) return {"{\"name\": \"", "\", \"parameters\": "};
    if (has(GGUFX_CHAT_STYLE_HERMES | GGUFX_CHAT_STYLE_XML))
        return {"<tool_call>\n{\"name\": \"", "\", \"arguments\": "};
    return {"{\"name\": \"", "\", \"arguments\": "};
}

// What ends reasoning that the prompt has opened: it has no place in a form. The mark is the last of the
// prompt, as for ggufx_chat_parser_create: one further up is a message's.
std::string_view closing_of(uint32_t styles, std::string_view prompt) {
    struct Pair {
        uint32_t style;
        std::string_view open, close;
    };
    static constexpr Pair kPairs[] = {{GGUFX_CHAT_STYLE_THINK, "<think>", "</think>\n\n"},
                                      {GGUFX_CHAT_STYLE_BRACKET, "[THINK]", "[/THINK]"},
                                      {GGUFX_CHAT_STYLE_GEMMA, "<|channel>thought", "<channel|>"}};
    const std::string_view written = prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1);
    for (const Pair &pair : kPairs)
        if ((styles & pair.style) != 0 && written.ends_with(pair.open)) return pair.close;
    return "";
}

class Opening {
public:
    Opening(const ModelHost &host, std::vector<int32_t> &ids) : host_(host), ids_(ids) {}
    void mark(std::string_view text) { add(text, GGUFX_TOKENIZE_PARSE_SPECIAL); }
    void text(std::string_view text) { add(text, 0); } // a client's: no token of the template
private:
    void add(std::string_view text, uint32_t flags) {
        if (text.empty()) return;
        const std::vector<int32_t> more = host_.tokenize(std::string(text), flags);
        ids_.insert(ids_.end(), more.begin(), more.end());
    }
    const ModelHost &host_;
    std::vector<int32_t> &ids_;
};

// One of the names, then the sign that ends it: one name may begin as another.
std::string grammar_of_names(const std::vector<Callable> &functions, char end) {
    std::string out = "root ::= (";
    for (const Callable &function : functions)
        out += (&function == functions.data() ? "\"" : " | \"") + function.name + "\"";
    return out + ") \"" + (end == '"' ? "\\\"" : std::string(1, end)) + "\"\n";
}

std::shared_ptr<const CallPlan> plan_call(const ModelHost &host,
                                          const std::vector<Callable> &functions, Opening opening) {
    auto out = std::make_shared<CallPlan>();
    for (const Callable &function : functions)
        out->functions.push_back(
            {function.name, host.grammar_of(GGUFX_GRAMMAR_JSON_SCHEMA, function.schema, "tools")});
    const bool has_name = functions.size() == 1;
    const Marks marks = marks_of(host, has_name);
    opening.mark(marks.open);
    if (has_name) {
        opening.text(functions[0].name);
        opening.mark(marks.behind);
        return out;
    }
    out->names =
        host.grammar_of(GGUFX_GRAMMAR_GBNF, grammar_of_names(functions, marks.behind[0]), "tools");
    Opening(host, out->behind_name).mark(marks.behind.substr(1));
    return out;
}

} // namespace

AnswerPlan plan_answer(const ModelHost &host, const ChatWanted &wanted, const std::string &prompt) {
    AnswerPlan out;
    if (wanted.form == AnswerForm::text && wanted.forced.empty()) return out;
    Opening opening(host, out.opening);
    opening.mark(closing_of(host.styles(), prompt));
    if (!wanted.forced.empty()) {
        out.call = plan_call(host, wanted.forced, opening);
        return out;
    }
    out.json = host.grammar_of(GGUFX_GRAMMAR_JSON_SCHEMA, wanted.schema, "response_format");
    if (host.styles() & GGUFX_CHAT_STYLE_HARMONY) opening.mark("<|channel|>final<|message|>");
    return out;
}

// ---- a call on its way ----

CallWriter::CallWriter(std::shared_ptr<const CallPlan> plan) : plan_(std::move(plan)) {
    has_name_ = !plan_->names;
    matcher_ = make_matcher((has_name_ ? plan_->functions[0].arguments : plan_->names).get());
    if (has_name_) {
        name_ = plan_->functions[0].name;
        n_given_ = plan_->behind_name.size();
    }
}

std::optional<int32_t> CallWriter::given() const {
    if (!has_name_ || n_given_ == plan_->behind_name.size()) return {};
    return plan_->behind_name[n_given_];
}

static bool is_complete(const ggufx_matcher *matcher) {
    const auto info = facts<ggufx_matcher_facts>([&](ggufx_matcher_facts *out, ggufx_error *error) {
        return ggufx_matcher_info(out, matcher, error);
    });
    return (info.flags & GGUFX_MATCHER_WHOLE) != 0;
}

void CallWriter::add(std::string_view text, Delta &delta) {
    if (given()) {
        n_given_++;
        return;
    }
    if (!has_name_) {
        name_ += text;
        if (!is_complete(matcher_.get())) return;
        name_.pop_back(); // the sign that ended it
        has_name_ = true;
        for (const CallPlan::Function &function : plan_->functions)
            if (function.name == name_) matcher_ = make_matcher(function.arguments.get());
        return;
    }
    if (!was_told_) delta.calls.push_back({0, random_name(9), name_, ""});
    was_told_ = true;
    if (delta.calls.empty()) delta.calls.push_back({0, "", "", ""});
    delta.calls.back().arguments += text;
}

bool CallWriter::is_whole() const {
    return has_name_ && !given() && was_told_ && is_complete(matcher_.get());
}

} // namespace ggufx::cli
