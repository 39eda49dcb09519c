// SPDX-License-Identifier: MIT
#include "generate/chat/answer_plan.hpp"

#include "chat/json.hpp"
#include "chat/output.hpp"

#include <algorithm>

namespace ggufx::generate {

namespace {

constexpr std::string_view kAnyArguments = R"({"type":"object"})";
constexpr std::string_view kNoArguments =
    R"({"type":"object","properties":{},"additionalProperties":false})";

void add_ids(TokenIds &out, const TokenIds &more) {
    out.insert(out.end(), more.begin(), more.end());
}

void add_text(Vector<char> &out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

// Memory of values: a few hundred bytes each.
chat::Limits limits_of(const AnswerPlan::Request &request) {
    const uint64_t n = request.functions.size();
    return {UINT64_MAX, (uint64_t{1} << 20) + 512 * n, 0};
}

TokenIds ids_of(const Host *host, const model::Tokenizer &tokenizer, std::string_view text,
                bool parses_special) {
    TokenIds out{HostAllocator<int32_t>(host)};
    if (text.empty()) return out;
    model::TokenizeOptions options;
    options.parse_special = parses_special;
    model::Ids ids(host);
    tokenizer.tokenize(ids, text, options);
    out.resize(ids.size());
    ids.copy(out.data(), 0, ids.size());
    return out;
}

// Returns the first byte of a token's text; none if it has no text.
std::optional<char> first_byte(const model::Tokenizer &tokenizer, int32_t id) {
    model::DetokenizeOptions options;
    options.keep_special = options.keep_space = true;
    model::DetokenizeState state;
    char out[1];
    const size_t n = tokenizer.detokenize(out, sizeof out, &id, 1, options, state, true);
    return n > 0 ? std::optional<char>(out[0]) : std::nullopt;
}

// Returns the marker that closes the reasoning which a prompt has opened; empty: none is open.
Vector<char> open_reasoning(const Ref<Host> &host, const Ref<chat::OutputFormat> &format,
                            std::string_view prompt) {
    chat::ParserOptions options;
    options.prompt = prompt;
    const chat::Sink sink = {nullptr, [](void *, uint32_t, uint64_t, std::string_view) {}};
    const chat::OutputParser parser(host, format, options, sink);
    Vector<char> out{HostAllocator<char>(host.get())};
    add_text(out, parser.reasoning_close());
    return out;
}

} // namespace

TokenIds AnswerPlan::marker_ids(std::string_view text) const {
    return ids_of(host(), tokenizer_, text, true);
}

TokenIds AnswerPlan::text_ids(std::string_view text) const {
    return ids_of(host(), tokenizer_, text, false);
}

TokenIds AnswerPlan::name_ids(const CallPlan::Function &function) const {
    const chat::CallSyntax &syntax = call->syntax;
    Vector<char> after{HostAllocator<char>(host())};
    add_text(after, syntax.middle);
    if (!syntax.is_object) add_text(after, syntax.open);
    TokenIds out = text_ids(function.name);
    add_ids(out, marker_ids({after.data(), after.size()}));
    return out;
}

// Builds the parts of a plan.
class AnswerPlan::Builder final : chat::SchemaGrammars {
public:
    Builder(AnswerPlan &out, const Ref<chat::OutputFormat> &format, const Request &request,
            GrammarSource &grammars)
        : out_(out), format_(format), request_(request), source_(grammars),
          grammars_(HostAllocator<Ref<Grammar>>(out.host())) {}

    void build() {
        if (!request_.functions.empty())
            plan_call();
        else
            plan_json();
        plan_reasoning();
        // Without reasoning the forced opening is a part of the prompt, and computed with it.
        if (out_.reasons || out_.reasoning_open >= 0 || out_.call_open >= 0) return;
        out_.prompt = std::move(out_.opening);
        out_.opening.clear();
    }

private:
    size_t of_schema(std::string_view schema) override {
        grammars_.push_back(source_.of_schema(schema, function_));
        return grammars_.size() - 1;
    }

    // ---- JSON

    void plan_json() {
        out_.json = source_.of_schema(request_.schema, {});
        if (format_->harmony) out_.opening = out_.marker_ids("<|channel|>final<|message|>");
        if (!request_.has_tools) return;
        const chat::CallSyntax syntax = chat::call_syntax(out_.texts_, *format_, {});
        const TokenIds ids = out_.marker_ids(chat::trimmed(syntax.prefix));
        const auto first = ids.empty() ? std::nullopt : first_byte(out_.tokenizer_, ids[0]);
        if (format_->harmony || !first || *first == '{')
            fail(Status::unsupported, {},
                 "a schema of the answer with tools needs a template whose tool calls begin with "
                 "a marker");
        out_.call_open = ids[0];
    }

    // ---- tool call

    void plan_call() {
        if (!format_->has_calls())
            fail(Status::unsupported, {},
                 "the template does not show how its models write tool calls (use a template that "
                 "does)");
        const Host *const host = out_.host();
        const std::string_view id = copy(request_.call_id);
        out_.call.emplace(
            CallPlan{chat::call_syntax(out_.texts_, *format_, id), id,
                     Vector<CallPlan::Function>{HostAllocator<CallPlan::Function>(host)},
                     TokenSet(host, out_.tokenizer_.vocab().size())});
        const chat::Value tools = chat::read_json(out_.meter_, request_.functions, "tools",
                                                  chat::JsonNumbers::as_written);
        for (size_t i = 0; tools.is(chat::Kind::list) && i < tools.list->size; i++)
            add_function(tools.list->items[i], i);
        if (out_.call->functions.empty())
            fail(Status::not_found, {}, "no tool has the name of the function that must be called");
        find_string_tokens();
        out_.opening = out_.marker_ids(out_.call->syntax.prefix);
        if (out_.call->has_name()) add_ids(out_.opening, out_.name_ids(out_.call->functions[0]));
    }

    // A tool is {"function": {"name": ..., "parameters": {...}}}, or the inner object.
    void add_function(const chat::Value &tool, size_t index) {
        const chat::Value *const inner = member(tool, "function");
        const chat::Value &of = inner ? *inner : tool;
        const chat::Value *const name = member(of, "name");
        if (!name || !name->is(chat::Kind::string) || name->text->size == 0)
            fail(Status::malformed, {kNone, index}, "tool %" PRIu64 " has no name",
                 static_cast<uint64_t>(index));
        function_ = name->text->view();
        if (!request_.function.empty() && request_.function != function_) return;
        CallPlan::Function &function = out_.call->functions.emplace_back(CallPlan::Function{
            function_,
            {},
            Vector<CallPlan::Parameter>{HostAllocator<CallPlan::Parameter>(out_.host())}});
        const chat::Value *schema = member(of, "parameters");
        if (!schema) schema = keep(kNoArguments);
        try {
            plan_arguments(function, *schema);
        } catch (const Error &error) {
            // If any function may be called, one whose schema is not supported takes any arguments.
            const auto status = static_cast<Status>(error.failure.status);
            const bool is_of_schema = status != Status::memory && status != Status::cancelled;
            if (!is_of_schema || !request_.function.empty()) throw;
            function.parameters.clear();
            plan_arguments(function, *keep(kAnyArguments));
        }
    }

    void plan_arguments(CallPlan::Function &out, const chat::Value &schema) {
        const chat::CallSyntax &syntax = out_.call->syntax;
        if (syntax.is_object) {
            chat::Meter meter(out_.host(), out_.meter_.limits());
            out.arguments = source_.of_schema(chat::schema_text(meter, schema), function_);
            return;
        }
        grammars_.clear();
        chat::ParameterReader reader(out_.meter_, *this, !syntax.string_end.empty(), schema);
        const Vector<chat::CallParameter> all = reader.read();
        out.parameters.reserve(all.size());
        for (const chat::CallParameter &one : all) add_parameter(out, one);
    }

    void add_parameter(CallPlan::Function &out, const chat::CallParameter &of) {
        const chat::CallSyntax &syntax = out_.call->syntax;
        Vector<char> after{HostAllocator<char>(out_.host())}, key(after);
        add_text(after, of.is_string ? syntax.after_key : syntax.after_key_other);
        if (of.is_string) add_text(after, syntax.string_open);
        chat::Meter meter(out_.host(), out_.meter_.limits());
        add_text(key, chat::schema_text(meter, chat::text_value(meter, of.key)));
        TokenIds ids = out_.text_ids(of.key);
        add_ids(ids, out_.marker_ids({after.data(), after.size()}));
        out.parameters.push_back(
            {of.key, std::move(key), of.is_required, of.is_string, of.texts, of.max_length,
             of.grammar == SIZE_MAX ? Ref<Grammar>() : grammars_[of.grammar], std::move(ids)});
    }

    // Text tokens, and those of the marker that ends a string, but no others with a meaning.
    void find_string_tokens() {
        TokenSet &out = out_.call->string_tokens;
        const model::Vocab &vocab = out_.tokenizer_.vocab();
        for (size_t i = 0; i < vocab.size(); i++) {
            const model::Token &token = vocab[i];
            if (!token.ends && token.kind != model::TokenKind::control &&
                token.kind != model::TokenKind::unknown)
                out.add(static_cast<int32_t>(i));
        }
        for (const int32_t id : out_.marker_ids(out_.call->syntax.string_end))
            if (!vocab[static_cast<size_t>(id)].ends) out.add(id);
    }

    // ---- reasoning

    // Decides how the output begins: within reasoning, or where the model may open it.
    void plan_reasoning() {
        if (format_->harmony) {
            if (request_.answers_at_once) return;
            out_.begun = "<|channel|>analysis<|message|>";
            out_.prompt = out_.marker_ids(out_.begun);
            out_.reasons = true;
            return put_first(out_.marker_ids("<|start|>assistant"));
        }
        Vector<char> close = open_reasoning(out_.host_, format_, request_.prompt);
        if (!close.empty()) {
            out_.reasons = !request_.answers_at_once;
            add_text(close, "\n\n");
            if (request_.answers_at_once) put_first(out_.marker_ids({close.data(), close.size()}));
            return;
        }
        if (format_->n_reasoning == 0 || request_.answers_at_once) return;
        const chat::ReasoningFormat &reasoning = format_->reasoning[0];
        if (!reasoning.close.empty() && chat::trimmed(request_.prompt).ends_with(reasoning.close))
            return;
        const TokenIds open = out_.marker_ids(reasoning.open);
        if (open.size() == 1) out_.reasoning_open = open[0];
    }

    void put_first(const TokenIds &ids) {
        out_.opening.insert(out_.opening.begin(), ids.begin(), ids.end());
    }

    const chat::Value *member(const chat::Value &value, std::string_view key) {
        return value.is(chat::Kind::dict) ? chat::lookup(out_.meter_, *value.dict, key) : nullptr;
    }
    const chat::Value *keep(std::string_view schema) {
        return out_.meter_.make<chat::Value>(chat::read_json(out_.meter_, schema, "schema"));
    }
    std::string_view copy(std::string_view text) {
        return out_.texts_.copy(text.data(), text.size());
    }

    AnswerPlan &out_;
    const Ref<chat::OutputFormat> &format_;
    const Request &request_;
    GrammarSource &source_;
    Vector<Ref<Grammar>> grammars_; // for the parameters of a function
    std::string_view function_;     // its name
};

AnswerPlan::AnswerPlan(const Ref<Host> &host, const Ref<chat::OutputFormat> &format,
                       const model::Tokenizer &tokenizer, const Request &request,
                       GrammarSource &grammars)
    : prompt(HostAllocator<int32_t>(host.get())), opening(HostAllocator<int32_t>(host.get())),
      host_(host), tokenizer_(tokenizer), meter_(host.get(), limits_of(request)),
      texts_(host.get()) {
    Builder(*this, format, request, grammars).build();
}

} // namespace ggufx::generate
