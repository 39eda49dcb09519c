// A tool call that a request asks for: how the models of a template write it, and its writing token by
// token. Names, keys and arguments keep to the tool's schema; markers have no choice.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/model_host.hpp"
#include "serve/reply.hpp"
#include "serve/token_choice.hpp"

namespace ggufx::cli {

// Text around the parts of a call. Arguments are one JSON object, or parameters one by one.
struct CallSyntax {
    std::string prefix, middle; // before and after the name
    bool is_object = true;      // arguments are a JSON object
    // Parameters: `open`, then each key and value, then `end`; separators between them.
    std::string open, separator, before_key, after_key, after_key_other, value_end, end;
    std::string string_open, string_end; // around a string as it is; no end: strings are JSON
    uint32_t grammar_flags = 0;          // GGUFX_GRAMMAR_*, of JSON
};
// `id` is the id of the call where the template writes one.
CallSyntax call_syntax(const ggufx_chat_facts &facts, const std::string &id);

struct CallPlan {
    struct Parameter {
        std::string key;
        bool is_required = false, is_string = false; // written as it is
        std::vector<std::string> texts;              // the only strings it may be; empty: any
        uint64_t max_length = UINT64_MAX;            // characters of a string
        Grammar grammar;                             // of a value in JSON
    };
    struct Function {
        std::string name;
        Grammar arguments; // an object
        std::vector<Parameter> parameters;
    };
    CallSyntax syntax;
    std::string id;
    std::vector<Function> functions;
    // There is one function, and its name is no choice: it is a part of the opening.
    bool has_name() const {
        return functions.size() == 1 && (syntax.is_object || !functions[0].parameters.empty());
    }
};

// Throws ApiError where a schema says more than grammars know.
std::shared_ptr<const CallPlan>
plan_call(const ModelHost &host, const std::vector<Callable> &functions, uint32_t grammar_flags);

// What the next token may be.
struct Constraint {
    std::optional<int32_t> given;      // it has no choice
    ggufx_matcher *matcher = nullptr;  // it fits this
    const TokenSet *allowed = nullptr; // it is one of these
};

// Tokens before a call: its first markers, with the name where there is no choice.
std::vector<int32_t> call_opening(const ModelHost &host, const CallPlan &plan);

// A call on its way; it begins after the opening.
class CallWriter {
public:
    CallWriter(const ModelHost &host, std::shared_ptr<const CallPlan> plan);

    void begin(Delta &delta); // after the opening
    Constraint constraint();
    // A token that was taken, and its bytes.
    void add(int32_t id, const std::string &bytes, Delta &delta);
    bool is_whole() const { return stage_ == Stage::whole; } // nothing may follow
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
    std::vector<const CallPlan::Parameter *> offered_; // the last choice may be the end
    std::vector<const CallPlan::Parameter *> written_;
    Stage stage_ = Stage::name;
    TokenChoice choice_;
    TokenSet allowed_;
    Matcher matcher_;
    std::string text_;      // of a string
    size_t n_chars_ = 0;    // of it; bytes that begin none count as one each
    unsigned n_wanted_ = 0; // bytes of the last one that are still to come
    bool has_begun_ = false;
};

bool is_complete(const ggufx_matcher *matcher); // the text may end here

} // namespace ggufx::cli
