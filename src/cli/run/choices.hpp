// Questions with several endings, one JSON object a line: which a model expects.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/adapters.hpp"
#include "models/shards.hpp"
#include "models/text_model.hpp"

namespace ggufx::cli {

struct Question {
    std::vector<std::string> texts; // context and ending, one for each ending
    size_t n_context = 0;           // bytes of the context
    size_t answer = 0;
};
// {"context", "endings", "answer"} joined as they are, or HellaSwag's {"ctx", "endings", "label"},
// a space between. Throws Failure with the line.
std::vector<Question> parse_questions(std::string_view text, const std::string &path);

struct ChoiceScore {
    uint64_t n = 0, n_right = 0;
    double share() const;
    double error() const; // standard error of the share
};
struct ChoicesResult {
    ChoiceScore plain, by_token, by_byte; // sums; divided by tokens, by bytes of the ending
    void add(const ChoicesResult &other);
};

struct ChoicesOptions {
    TextOptions text;
    uint32_t type_k = 0, type_v = 0;
    uint64_t limit = 0; // 0 = all
    ShardOptions shards;
    AdapterOptions adapters;
};
int measure_choices(const Globals &globals, const ChoicesOptions &options);

} // namespace ggufx::cli
