// What clients ask for, read from the bodies of their requests. A field that has no effect here is
// refused by its name, never dropped. Pure: nothing of a model or a connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"

#include <ggufx/sampler.h>

#include <optional>

namespace ggufx::cli {

// How texts are written where a request does not say.
struct SamplingDefaults {
    float temperature = 1.0f, top_p = 1.0f, min_p = 0.0f;
    uint32_t top_k = 0;
    uint32_t grammar_flags = 0; // GGUFX_GRAMMAR_*: white space of JSON
};

struct Wanted {        // of a text
    std::string model; // empty: the one there is
    SamplingDefaults sampling;
    float frequency_penalty = 0, presence_penalty = 0;
    std::optional<uint64_t> seed;
    std::optional<uint32_t>
        max_tokens; // 0 beside echo alone; nothing: up to the end of the context
    std::vector<std::string> stop;
    std::vector<ggufx_logit_bias> biases;
    bool logprobs = false;
    uint32_t n_top = 0;       // likeliest tokens told of each
    uint32_t n = 1;           // texts
    uint32_t best_of = 1;     // that are written for these
    std::string conversation; // beginnings are shared within it alone; empty: with all of the key
    bool stream = false, include_usage = false, cache_prompt = true;
    bool return_special = false;             // control tokens are parts of the text
    std::optional<uint32_t> thinking_budget; // tokens of reasoning at most
    bool keeps_reasoning = false;            // in the content, as it is written
};

enum class AnswerForm { text, object, schema };

// A function that can be called, with the schema of its arguments.
struct Callable {
    std::string name, schema;
    bool is_named = false; // the request asks for this one
};

struct ChatWanted : Wanted {
    std::string messages; // JSON, as templates take it
    std::string tools;    // JSON; empty: none
    AnswerForm form = AnswerForm::text;
    std::string schema;
    std::vector<Callable> forced; // one of these has to be called; none: as the model likes
    bool parallel_calls = true;   // else the answer ends after one call
    std::string reasoning_effort;
    std::optional<bool> thinks;       // what the template finds as enable_thinking
    bool continues = false;           // the last message goes on
    bool opens_turn = true;           // the template opens the assistant's turn
    Json variables = Json::object();  // of the template
    std::vector<std::string> ignored; // names of what was accepted and has no effect
};

// A text or its ids.
struct TextOrIds {
    std::string text;
    std::vector<int32_t> ids;
    bool is_ids = false;
};

struct CompletionWanted : Wanted {
    std::vector<TextOrIds> prompts;
    std::optional<std::string> suffix;
    bool echo = false;
    bool parse_special = true; // control tokens in prompts are read
};

struct ResponsesWanted : ChatWanted {
    Json asked; // members of the answer that repeat the request
};

struct RerankWanted {
    std::string model, query;
    std::vector<std::string> documents;
    size_t top_n = SIZE_MAX;
    bool return_documents = false;
};

struct EmbeddingsWanted {
    std::string model;
    std::vector<TextOrIds> inputs;
    bool base64 = false;
    std::optional<uint32_t> dimensions;
};

struct TokenizeWanted {
    std::string content;
    bool add_special = false, parse_special = false, with_pieces = false;
};

// Each throws ApiError. `lenient`: fields that nobody documents are passed over.
ChatWanted read_chat(const Json &body, const SamplingDefaults &defaults, bool lenient);
CompletionWanted read_completion(const Json &body, const SamplingDefaults &defaults, bool lenient);
ResponsesWanted read_responses(const Json &body, const SamplingDefaults &defaults, bool lenient);
RerankWanted read_rerank(const Json &body, bool lenient);
std::string read_slot_name(const Json &body, bool lenient); // of a snapshot
EmbeddingsWanted read_embeddings(const Json &body, bool lenient);
TokenizeWanted read_tokenize(const Json &body, bool lenient);
std::vector<int32_t> read_detokenize(const Json &body, bool lenient);
ChatWanted read_template(const Json &body, bool lenient); // messages and tools alone

// A body as an object; throws ApiError.
Json read_body(const std::string &bytes);

} // namespace ggufx::cli
