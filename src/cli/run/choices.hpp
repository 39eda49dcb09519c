// Multiple-choice evaluation: questions with several continuations, one JSON object a line.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/adapters.hpp"
#include "models/shards.hpp"
#include "models/text_model.hpp"

namespace ggufx::cli {

struct Question {
    std::vector<std::string> texts; // context and continuation, one string per continuation
    size_t n_context = 0;           // bytes of the context
    size_t answer = 0;
};
// Parses {"context", "endings", "answer"}, joined as they are, or HellaSwag's {"ctx", "endings",
// "label"}, joined by a space. Throws Failure with the line.
std::vector<Question> parse_questions(std::string_view text, const std::string &path);

struct ChoiceScore {
    uint64_t n = 0, n_right = 0;
    double share() const;
    double error() const; // standard error of the accuracy
};
struct ChoicesResult {
    // Scored by the sum of log-probabilities, and by the sum divided by tokens or bytes of the
    // continuation.
    ChoiceScore plain, by_token, by_byte;
    void add(const ChoicesResult &other);
};

struct ChoicesOptions {
    TextOptions text;
    uint32_t type_k = 0, type_v = 0;
    uint64_t limit = 0; // maximum number of questions, 0 = all
    ShardOptions shards;
    AdapterOptions adapters;
};
int measure_choices(const Globals &globals, const ChoicesOptions &options);

} // namespace ggufx::cli
