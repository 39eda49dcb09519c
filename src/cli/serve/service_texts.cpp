// Requests for texts and vectors: prompts, and what is handed to the engine.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

void Service::require_writing() const {
    if (host_.writes()) return;
    throw ApiError(400, "the model writes no text: it makes embeddings", "model", "unsupported");
}

std::shared_ptr<Reply> Service::make_reply(const Call &call, const Wanted &wanted, size_t n_prompts,
                                           bool is_chat, uint64_t seed) const {
    ReplyShape shape;
    shape.is_chat = is_chat;
    shape.stream = wanted.stream;
    shape.include_usage = wanted.include_usage;
    shape.logprobs = wanted.logprobs;
    shape.n_texts = static_cast<uint32_t>(n_prompts) * wanted.n;
    shape.model = host_.name();
    shape.fingerprint = host_.fingerprint();
    shape.seed = seed;
    return std::make_shared<Reply>(call.exchange, shape);
}

void Service::add_jobs(std::vector<std::shared_ptr<Job>> &jobs, const Call &call,
                       const Texts &texts, const std::vector<int32_t> &ids, uint32_t prompt_index) {
    if (ids.empty()) throw ApiError(400, "the prompt has no tokens", "prompt", "invalid_value");
    if (ids.size() >= host_.n_context())
        throw ApiError(
            400,
            fmt::format("the prompt has {} tokens, the context {}", ids.size(), host_.n_context()),
            texts.prompt ? "messages" : "prompt", "context_length_exceeded");
    const auto room = static_cast<uint32_t>(host_.n_context() - ids.size());
    std::shared_ptr<Job> first;
    for (uint32_t i = 0; i < texts.wanted.n; i++) {
        TextPlan plan;
        plan.index = prompt_index * texts.wanted.n + i;
        plan.n_prompt = ids.size();
        plan.counts_prompt = i == 0;
        plan.max_tokens = std::min(texts.wanted.max_tokens.value_or(room), room);
        plan.logprobs = texts.wanted.logprobs;
        plan.n_top = texts.wanted.n_top;
        plan.taken = call.taken;
        auto job = std::make_shared<Job>();
        job->prompt = ids;
        job->owner = call.exchange->owner();
        job->share = texts.wanted.cache_prompt;
        job->first = first;
        job->writer = std::make_shared<TextWriter>(
            host_, texts.reply, metrics_, monotonic_seconds, plan, texts.wanted, texts.seed + i,
            texts.grammar ? make_matcher(texts.grammar->get()) : nullptr, texts.prompt,
            texts.tools);
        if (!first) first = job;
        jobs.push_back(std::move(job));
    }
}

// From here on all that happens is the engine's to tell.
void Service::start(const Call &call, const Wanted &wanted,
                    std::vector<std::shared_ptr<Job>> jobs) {
    if (engine_->n_waiting() + jobs.size() > options_.n_queue)
        throw ApiError(429, "the queue is full", "", "queue_full");
    if (wanted.stream) call.exchange->open_stream();
    engine_->add(std::move(jobs));
}

void Service::chat(Call &call, const Json &body) {
    const ChatWanted wanted = read_chat(body, options_.sampling, options_.lenient);
    require_model(wanted.model);
    require_writing();
    const Prompt prompt = host_.prompt_of(wanted);
    Grammar grammar;
    if (wanted.form != AnswerForm::text) grammar = host_.grammar_of(wanted.schema);
    // What a program in JavaScript can hold.
    const uint64_t seed = wanted.seed.value_or(random_number() >> 32);
    const auto reply = make_reply(call, wanted, 1, true, seed);
    std::vector<std::shared_ptr<Job>> jobs;
    add_jobs(jobs, call, {wanted, reply, seed, grammar ? &grammar : nullptr, &prompt, wanted.tools},
             prompt.ids, 0);
    start(call, wanted, std::move(jobs));
}

// A text, its ids, or what stands around a gap.
std::vector<int32_t> Service::completion_ids(const CompletionWanted &wanted,
                                             const TextOrIds &prompt) {
    if (prompt.is_ids) host_.check(prompt.ids, "prompt");
    if (!wanted.suffix)
        return prompt.is_ids ? prompt.ids : host_.tokenize(prompt.text, GGUFX_TOKENIZE_ADD_SPECIAL);
    const auto special = [&](uint32_t which) {
        const int32_t id = ggufx_tokenizer_special(host_.tokenizer(), which);
        if (id < 0)
            throw ApiError(400, "suffix: the model has no tokens for a gap", "suffix",
                           "unsupported");
        return id;
    };
    const int32_t before = special(GGUFX_SPECIAL_FIM_PREFIX);
    const int32_t behind = special(GGUFX_SPECIAL_FIM_SUFFIX);
    const int32_t middle = special(GGUFX_SPECIAL_FIM_MIDDLE);
    std::vector<int32_t> out = {before};
    const auto add = [&](const std::vector<int32_t> &ids) {
        out.insert(out.end(), ids.begin(), ids.end());
    };
    add(prompt.is_ids ? prompt.ids : host_.tokenize(prompt.text, 0));
    out.push_back(behind);
    add(host_.tokenize(*wanted.suffix, 0));
    out.push_back(middle);
    return out;
}

void Service::completion(Call &call, const Json &body) {
    const CompletionWanted wanted = read_completion(body, options_.sampling, options_.lenient);
    require_model(wanted.model);
    require_writing();
    if (wanted.prompts.size() * wanted.n > options_.n_queue)
        throw ApiError(400, "more texts are asked for than the queue holds", "prompt",
                       "invalid_value");
    const uint64_t seed = wanted.seed.value_or(random_number() >> 32);
    const auto reply = make_reply(call, wanted, wanted.prompts.size(), false, seed);
    std::vector<std::shared_ptr<Job>> jobs;
    for (uint32_t i = 0; i < wanted.prompts.size(); i++) {
        const std::vector<int32_t> ids = completion_ids(wanted, wanted.prompts[i]);
        add_jobs(jobs, call, {wanted, reply, seed, nullptr, nullptr, ""}, ids, i);
    }
    for (uint32_t i = 0; wanted.echo && i < reply->n_texts(); i++) {
        const TextOrIds &prompt = wanted.prompts[i / wanted.n];
        Delta delta;
        delta.content = prompt.is_ids ? host_.detokenize(prompt.ids, 0) : prompt.text;
        reply->put(i, std::move(delta));
    }
    start(call, wanted, std::move(jobs));
}

// ---- vectors ----

namespace {

// The first values of a vector of length 1, brought to length 1.
void cut_vector(std::span<float> values) {
    double sum = 0;
    for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
    const double length = std::sqrt(sum);
    for (float &v : values)
        if (length > 0) v = static_cast<float>(static_cast<double>(v) / length);
}

std::string base64(std::span<const float> values) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    for (const float value : values) {
        const auto bits = std::bit_cast<uint32_t>(value); // the lowest byte first
        for (unsigned shift = 0; shift < 32; shift += 8)
            bytes += static_cast<char>(bits >> shift & 0xff);
    }
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const auto byte = [&](size_t k) -> uint32_t {
            return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
        };
        const uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (unsigned k = 0; k < 4; k++)
            out += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
    }
    return out;
}

Json vector_json(std::span<const float> values, bool as_base64) {
    if (as_base64) return base64(values);
    Json out = Json::array();
    for (const float value : values) out.push_back(static_cast<double>(value));
    return out;
}

} // namespace

void Service::embeddings(Call &call, const Json &body) {
    const EmbeddingsWanted wanted = read_embeddings(body, options_.lenient);
    require_model(wanted.model);
    if (!host_.embeds())
        throw ApiError(400, "the model is none for embeddings (the server's --embeddings)", "model",
                       "unsupported");
    const uint32_t n = wanted.dimensions.value_or(host_.dimensions());
    if (n > host_.dimensions())
        throw ApiError(400, fmt::format("the vectors have {} values", host_.dimensions()),
                       "dimensions", "invalid_value");
    std::vector<std::vector<int32_t>> texts;
    uint64_t n_tokens = 0;
    for (const TextOrIds &input : wanted.inputs) {
        if (input.is_ids) host_.check(input.ids, "input");
        texts.push_back(input.is_ids ? input.ids
                                     : host_.tokenize(input.text, GGUFX_TOKENIZE_ADD_SPECIAL));
        if (texts.back().empty())
            throw ApiError(400, "a text has no tokens", "input", "invalid_value");
        n_tokens += texts.back().size();
    }
    std::vector<float> vectors = host_.embed(texts);
    Json data = Json::array();
    for (size_t i = 0; i < texts.size(); i++) {
        const std::span<float> values(vectors.data() + i * host_.dimensions(), n);
        if (n < host_.dimensions()) cut_vector(values);
        data.push_back(Json{{"object", "embedding"},
                            {"index", i},
                            {"embedding", vector_json(values, wanted.base64)}});
    }
    const Json out = Json{{"object", "list"},
                          {"data", data},
                          {"model", host_.name()},
                          {"usage", Json{{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}}}};
    call.exchange->tell({"", n_tokens, 0, 0});
    call.exchange->respond(200, "application/json", out.dump() + "\n");
}

} // namespace ggufx::cli
