// Plan of a constrained answer: JSON that matches a schema, or a tool call. Reasoning comes first
// and is free; then the markers of the template are forced, and a grammar applies.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/call_parameters.hpp"
#include "chat/call_syntax.hpp"
#include "generate/chat/token_choice.hpp"
#include "tokenizer/tokenizer.hpp"

namespace ggufx::generate {

// Makes, or finds, grammars of JSON Schemas.
class GrammarSource {
public:
    // `function`: name of the function whose arguments it describes; empty: the answer. Throws.
    virtual Ref<Grammar> of_schema(std::string_view schema, std::string_view function) = 0;

protected:
    ~GrammarSource() = default;
};

// The tool call that an output must have.
struct CallPlan {
    struct Parameter {
        std::string_view key;
        Vector<char> key_json;
        bool is_required, is_string; // is_string: written raw, without JSON quotes
        const chat::List *texts;     // allowed strings; null: any string
        uint64_t max_length;         // for a string, in characters
        Ref<Grammar> grammar;        // for a JSON value
        TokenIds ids;                // tokens of the key and of what follows it
    };
    struct Function {
        std::string_view name;
        Ref<Grammar> arguments; // for the object of arguments
        Vector<Parameter> parameters;
    };
    chat::CallSyntax syntax;
    std::string_view id;
    Vector<Function> functions;
    TokenSet string_tokens; // tokens of a raw string, and of the marker after it
    // Whether the forced opening contains the name: that of a single function, which takes an
    // object or has parameters.
    bool has_name() const {
        return functions.size() == 1 && (syntax.is_object || !functions[0].parameters.empty());
    }
};

// Immutable; reference counted by its format.
class AnswerPlan {
public:
    struct Request {
        std::string_view prompt;    // the rendered conversation, or its end
        std::string_view schema;    // JSON Schema of the answer; empty: none
        std::string_view functions; // JSON array of tools of which one must be called; empty: none
        std::string_view function;  // the only one of them that may be called; empty: any
        std::string_view call_id;   // id of the call, for templates that write one
        bool has_tools = false;     // tool calls are parsed
        bool answers_at_once = false; // no reasoning
    };
    // Throws Error (malformed, not_found, unsupported, errors of the grammars) / std::bad_alloc.
    AnswerPlan(const Ref<Host> &host, const Ref<chat::OutputFormat> &format,
               const model::Tokenizer &tokenizer, const Request &request, GrammarSource &grammars);

    const Host *host() const { return host_.get(); }
    const model::Tokenizer &tokenizer() const { return tokenizer_; }
    TokenIds marker_ids(std::string_view text) const;            // special tokens are parsed
    TokenIds text_ids(std::string_view text) const;              // they are not
    TokenIds name_ids(const CallPlan::Function &function) const; // and what follows the name

    TokenIds prompt;             // tokens after the rendered prompt
    std::string_view begun;      // their text, which the parser reads before the output
    bool reasons = false;        // reasoning comes first
    int32_t reasoning_open = -1; // token with which the model may open reasoning
    TokenIds opening;            // forced tokens before JSON or the name of a call, after reasoning
    Ref<Grammar> json;           // null: no JSON is asked for
    int32_t call_open = -1;      // token that opens a tool call in place of JSON
    std::optional<CallPlan> call;

private:
    class Builder;
    Ref<Host> host_;
    const model::Tokenizer &tokenizer_;
    chat::Meter meter_; // memory of texts and schemas
    Arena texts_;
};

} // namespace ggufx::generate
