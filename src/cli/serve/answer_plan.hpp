// An answer that is more than a text: JSON by a schema, or a call of a function that the request
// asks for. A grammar keeps to it, and tokens that the model has no choice of stand where its template
// has marks.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/model_host.hpp"
#include "serve/reply.hpp"

namespace ggufx::cli {

// A call of one function, or of one of several, whose name the model writes.
struct CallPlan {
    struct Function {
        std::string name;
        Grammar arguments;
    };
    std::vector<Function> functions;
    Grammar names;                    // and a sign behind them; NULL: there is one function
    std::vector<int32_t> behind_name; // what stands between a name that was written and arguments
};

struct AnswerPlan {
    std::vector<int32_t> opening; // behind the prompt, and computed as it is
    Grammar json;                 // NULL: no JSON is asked for
    std::shared_ptr<const CallPlan> call;
    bool is_free() const { return !json && !call; }
};

// `prompt` as it was rendered. Throws ApiError where a schema says more than grammars know.
AnswerPlan plan_answer(const ModelHost &host, const ChatWanted &wanted, const std::string &prompt);

// A call on its way, token by token.
class CallWriter {
public:
    explicit CallWriter(std::shared_ptr<const CallPlan> plan);

    std::optional<int32_t> given() const; // the next token, where there is no choice; else
    ggufx_matcher *matcher() { return matcher_.get(); } // which it has to fit
    void add(std::string_view text, Delta &delta);      // of the token that was taken
    bool is_whole() const;                              // nothing may follow

    bool was_told() const { return was_told_; } // that it begins

private:
    std::shared_ptr<const CallPlan> plan_;
    Matcher matcher_;
    std::string name_;   // as far as it is written
    size_t n_given_ = 0; // of what stands behind it
    bool has_name_ = false;
    bool was_told_ = false;
};

} // namespace ggufx::cli
