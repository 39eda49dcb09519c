// Forced tool call: the call syntax of a chat template, and constrained decoding of the call token
// by token. Names, keys and arguments match the tool's schema; markers are forced.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/model_host.hpp"
#include "serve/reply.hpp"
#include "serve/schema_compiler.hpp"
#include "serve/token_choice.hpp"

namespace ggufx::cli {

// Text around the parts of a call. Arguments are one JSON object, or separate parameters.
struct CallSyntax {
    std::string prefix, middle; // text before and after the name
    bool is_object = true;      // true: arguments are one JSON object
    // Parameter syntax: `open`, then each key and value, then `end`; separators between them.
    std::string open, separator, before_key, after_key, after_key_other, value_end, end;
    std::string string_open, string_end; // text around a raw string; no end: strings are JSON
};
// `id`: call id, for templates that write one.
CallSyntax call_syntax(const ggufx_chat_facts &facts, const std::string &id);

struct CallPlan {
    using Texts = std::shared_ptr<const std::vector<std::string>>;
    struct Parameter {
        std::string key;
        bool is_required = false, is_string = false; // is_string: written raw, without JSON quotes
        Texts texts;                                 // allowed strings; NULL: any string
        uint64_t max_length = UINT64_MAX;            // maximum length in characters
        SharedGrammar grammar;                       // grammar of a JSON value
        std::vector<int32_t> ids;                    // tokens of the key and what follows it
    };
    struct Function {
        std::string name;
        SharedGrammar arguments; // grammar of the object of arguments
        std::vector<Parameter> parameters;
    };
    CallSyntax syntax;
    std::string id;
    std::vector<Function> functions;
    // Returns true if the forced opening contains the name: a single function, which takes an
    // object or has parameters.
    bool has_name() const {
        return functions.size() == 1 && (syntax.is_object || !functions[0].parameters.empty());
    }
};

// Throws ApiError if a schema uses keywords that grammars do not support, or if the schemas take too
// much work or memory.
std::shared_ptr<const CallPlan> plan_call(const ModelHost &host, SchemaCompiler &grammars,
                                          const std::vector<Callable> &functions);

// Constraint on the next token.
struct Constraint {
    std::optional<int32_t> given;      // forced token
    ggufx_matcher *matcher = nullptr;  // the token must fit this grammar
    const TokenSet *allowed = nullptr; // the token must be in this set
};

// Returns the forced tokens at the start of a call, including the name if has_name().
std::vector<int32_t> call_opening(const ModelHost &host, const CallPlan &plan);

// Constrained decoding of one call; starts after the opening.
class CallWriter {
public:
    CallWriter(const ModelHost &host, std::shared_ptr<const CallPlan> plan);

    void begin(Delta &delta); // called after the opening
    Constraint constraint();
    // Consumes a sampled token and its bytes.
    void add(int32_t id, const std::string &bytes, Delta &delta);
    bool is_whole() const { return stage_ == Stage::whole; } // no token may follow
    bool has_begun() const { return has_begun_; }

private:
    enum class Stage { name, object, key, string, value, value_end, whole };
    void begin_arguments(Delta &delta);
    void offer_keys();
    void begin_value(Delta &delta);
    void end_value(Delta &delta);
    void finish(Delta &delta);
    void add_to_string(const std::string &bytes, Delta &delta);
    void put(Delta &delta, const std::string &json);

    const ModelHost &host_;
    std::shared_ptr<const CallPlan> plan_;
    const CallPlan::Function *function_ = nullptr;
    const CallPlan::Parameter *parameter_ = nullptr;
    // Options of the current choice; the last one may be the end.
    std::vector<const CallPlan::Parameter *> offered_;
    std::vector<bool> is_written_; // parameters of the function
    size_t n_written_ = 0;
    Stage stage_ = Stage::name;
    TokenChoice choice_;
    TokenSet allowed_;
    Matcher matcher_;
    std::string text_;      // text of the string being written
    size_t n_chars_ = 0;    // characters of text_; invalid bytes count as one each
    unsigned n_wanted_ = 0; // missing continuation bytes of the last character
    bool has_begun_ = false;
};

bool is_complete(const ggufx_matcher *matcher); // true if the grammar allows the end here

} // namespace ggufx::cli
