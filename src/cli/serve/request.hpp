// Parser of request bodies. Fields without effect are refused by name, never ignored silently. Pure
// functions, independent of model and connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"
#include "serve/request_memory.hpp"

#include <ggufx/sampler.h>

#include <optional>

namespace ggufx::cli {

// Sampling parameters for requests that do not set them.
struct SamplingDefaults {
#define SERVED(KEY, field, type, off, least, most, long_name, help) type field = off;
#include "sampling/samplers.def"
    uint32_t grammar_flags = 0; // GGUFX_GRAMMAR_* flags: white space of JSON
};

struct Wanted {        // parameters of a generation
    std::string model; // empty: the served model
    SamplingDefaults sampling;
    float frequency_penalty = 0, presence_penalty = 0;
    std::optional<uint64_t> seed;
    std::optional<uint32_t>
        max_tokens; // 0 only together with echo; empty: up to the end of the context
    std::vector<std::string> stop;
    std::vector<ggufx_logit_bias> biases;
    bool logprobs = false;
    uint32_t n_top = 0;       // top_logprobs: alternatives per token
    uint32_t n = 1;           // sequences returned
    uint32_t best_of = 1;     // sequences generated to select these from
    std::string conversation; // prefix cache namespace; empty: shared by all requests of the key
    bool stream = false, include_usage = false, cache_prompt = true;
    bool return_special = false;             // special tokens stay in the text
    std::optional<uint32_t> thinking_budget; // maximum reasoning tokens
    bool keeps_reasoning = false;            // reasoning stays in the content
};

enum class AnswerForm { text, object, schema };

// Function that can be called, with the schema of its arguments.
struct Callable {
    std::string name, schema;
    bool is_named = false; // named by tool_choice
};

struct ChatWanted : Wanted {
    std::string messages; // JSON array in the template's form
    std::string tools;    // JSON; empty: no tools
    AnswerForm form = AnswerForm::text;
    std::string schema;
    std::vector<Callable> forced; // functions of which one must be called; empty: the model decides
    bool parallel_calls = true;   // false: the answer ends after one call
    std::string reasoning_effort;
    std::optional<bool> thinks; // enable_thinking variable of the template
    bool continues = false;     // the output continues the last message
    bool opens_turn = true;     // add_generation_prompt: the template opens the assistant's turn
    Json variables = Json::object();  // template variables
    std::vector<std::string> ignored; // accepted fields that have no effect
};

// Text or token ids.
struct TextOrIds {
    std::string text;
    std::vector<int32_t> ids;
    bool is_ids = false;
};

struct CompletionWanted : Wanted {
    std::vector<TextOrIds> prompts;
    std::optional<std::string> suffix;
    bool echo = false;
    bool parse_special = true; // parse special tokens in prompts
};

struct ResponsesWanted : ChatWanted {
    Json asked; // response members that repeat the request
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

// Each throws ApiError. `lenient`: ignores unknown fields.
ChatWanted read_chat(const Json &body, const SamplingDefaults &defaults, bool lenient);
CompletionWanted read_completion(const Json &body, const SamplingDefaults &defaults, bool lenient);
ResponsesWanted read_responses(const Json &body, const SamplingDefaults &defaults, bool lenient);
RerankWanted read_rerank(const Json &body, bool lenient);
std::string read_slot_name(const Json &body, bool lenient); // name of a snapshot
EmbeddingsWanted read_embeddings(const Json &body, bool lenient);
TokenizeWanted read_tokenize(const Json &body, bool lenient);
std::vector<int32_t> read_detokenize(const Json &body, bool lenient);
ChatWanted read_template(const Json &body, bool lenient); // reads messages and tools only

// Parses a body as JSON; throws ApiError. `replaces_surrogates`: lone ones become U+FFFD.
Json read_body(const std::string &bytes, const RequestMemory &memory, bool replaces_surrogates);

} // namespace ggufx::cli
