// Generation requests: prompts and jobs for the engine.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include "common/random.hpp"
#include "serve/reply_completions.hpp"
#include "serve/reply_responses.hpp"
#include "serve/samplers.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr size_t kPrefixTokens = 1024; // prefix length for routing by a load balancer

// Returns a name for the first tokens of a prompt. Load balancers route requests with equal names
// to one server.
std::string prefix_name(const std::vector<int32_t> &ids) {
    uint64_t hash = 0;
    for (size_t i = 0; i < std::min(ids.size(), kPrefixTokens); i++)
        hash = PrefixIndex::mixed(hash, static_cast<uint32_t>(ids[i]));
    return fmt::format("{:016x}", hash);
}

} // namespace

void Service::require_writing() const {
    if (host_->writes()) return;
    throw ApiError(400, "the model does not generate text: it computes embeddings", "model",
                   "unsupported");
}

// Returns the prefix cache namespace: the key, or one conversation of it.
uint64_t Service::cache_of(uint64_t owner, const std::string &conversation) const {
    const uint64_t of_key = options_.share_prefixes ? 0 : owner;
    if (conversation.empty()) return of_key;
    return PrefixIndex::mixed(std::hash<std::string>()(conversation), owner + 1);
}

ReplyShape Service::shape_of(const Wanted &wanted) const {
    return {wanted.stream, wanted.logprobs, host_->name(), host_->fingerprint(),
            wanted.seed.value_or(random_seed())};
}

TextRequest Service::text_request(const Call &call, const Wanted &wanted,
                                  std::shared_ptr<Reply> reply) const {
    const double seconds = options_.request_seconds;
    return {.wanted = wanted,
            .reply = std::move(reply),
            .sampling = checked_sampling(*host_, wanted),
            .taken = call.taken,
            .deadline = seconds > 0 ? call.taken + seconds : 0};
}

void Service::add_jobs(std::vector<std::shared_ptr<Job>> &jobs, const Call &call,
                       const TextRequest &request, const std::vector<int32_t> &ids,
                       uint32_t prompt_index) {
    if (ids.empty()) throw ApiError(400, "the prompt has no tokens", "prompt", "invalid_value");
    if (ids.size() >= host_->n_context())
        throw ApiError(400,
                       fmt::format("the prompt has {} tokens, but the context holds {}", ids.size(),
                                   host_->n_context()),
                       request.chat ? "messages" : "prompt", "context_length_exceeded");
    const auto room = static_cast<uint32_t>(host_->n_context() - ids.size());
    const auto shared = std::make_shared<const TextRequest>(request);
    const Wanted &wanted = shared->wanted;
    std::shared_ptr<Job> first;
    for (uint32_t i = 0; i < wanted.best_of; i++) {
        auto job = std::make_shared<Job>();
        job->prompt = ids;
        job->owner = call.exchange->asker();
        job->cache = cache_of(call.exchange->owner(), wanted.conversation);
        job->share = wanted.cache_prompt;
        job->scores = request.scores;
        job->first = request.scores ? nullptr : first;
        job->writer = std::make_shared<CompletionWriter>(
            *host_, metrics_, shared, prompt_index * wanted.best_of + i,
            std::min(wanted.max_tokens.value_or(room), room),
            jobs.empty() ? call.ticket : take_ticket(*call.exchange));
        if (!first) first = job;
        jobs.push_back(std::move(job));
    }
}

// Begins the reply with the given text of each sequence. After this call, only the engine reports to
// the client.
void Service::start(const Call &call, Reply &reply, std::vector<std::shared_ptr<Job>> jobs,
                    const std::vector<std::string> &echoes) {
    require_queue(*call.exchange, jobs.size());
    call.exchange->add_header("X-Ggufx-Prefix", prefix_name(jobs[0]->prompt));
    reply.open();
    for (uint32_t i = 0; i < echoes.size(); i++) reply.put(i, {echoes[i], {}, {}, {}});
    engine_->add(std::move(jobs));
}

void Service::write_chat(Call &call, const ChatWanted &wanted, const SharedPrompt &prompt,
                         std::shared_ptr<Reply> reply) {
    TextRequest request = text_request(call, wanted, reply);
    request.chat = prompt;
    std::vector<std::shared_ptr<Job>> jobs;
    add_jobs(jobs, call, request, host_->ids_of(*prompt), 0);
    if (!wanted.ignored.empty())
        call.exchange->add_header("X-Ggufx-Ignored",
                                  fmt::format("{}", fmt::join(wanted.ignored, ", ")));
    start(call, *reply, std::move(jobs), {});
}

void Service::chat(Call &call, Json body) {
    const ChatWanted wanted =
        read_chat(std::exchange(body, {}), options_.sampling, options_.lenient);
    require_model(wanted.model);
    require_writing();
    const SharedPrompt prompt = host_->prompt_of(wanted, call.exchange->asker());
    write_chat(call, wanted, prompt,
               std::make_shared<CompletionReply>(call.exchange, shape_of(wanted), wanted, true));
}

void Service::responses(Call &call, Json body) {
    const ResponsesWanted wanted =
        read_responses(std::exchange(body, {}), options_.sampling, options_.lenient);
    require_model(wanted.model);
    require_writing();
    const SharedPrompt prompt = host_->prompt_of(wanted, call.exchange->asker());
    write_chat(call, wanted, prompt,
               std::make_shared<ResponsesReply>(call.exchange, shape_of(wanted), wanted.asked));
}

// Tokenizes a prompt; adds no second BOS if the text begins with one.
std::vector<int32_t> Service::prompt_ids(const std::string &text, bool parse_special) const {
    host_->require_room(text.size(), "prompt");
    std::vector<int32_t> ids = host_->tokenize(
        text, GGUFX_TOKENIZE_ADD_SPECIAL | (parse_special ? GGUFX_TOKENIZE_PARSE_SPECIAL : 0));
    const int32_t bos = host_->tokenizer_facts().bos;
    if (parse_special && ids.size() > 1 && ids[0] == bos && ids[1] == bos) ids.erase(ids.begin());
    return ids;
}

// Returns the ids of a text, the given ids, or a fill-in-the-middle prompt.
std::vector<int32_t> Service::completion_ids(const CompletionWanted &wanted,
                                             const TextOrIds &prompt) {
    if (prompt.is_ids) host_->check(prompt.ids, "prompt");
    if (!wanted.suffix)
        return prompt.is_ids ? prompt.ids : prompt_ids(prompt.text, wanted.parse_special);
    const ggufx_tokenizer_facts &special = host_->tokenizer_facts();
    if (special.fim_prefix < 0 || special.fim_suffix < 0 || special.fim_middle < 0)
        throw ApiError(400, "suffix: the model has no fill-in-the-middle tokens", "suffix",
                       "unsupported");
    std::vector<int32_t> out = {special.fim_prefix};
    const auto add = [&](const std::vector<int32_t> &ids) {
        out.insert(out.end(), ids.begin(), ids.end());
    };
    const uint32_t flags = wanted.parse_special ? GGUFX_TOKENIZE_PARSE_SPECIAL : 0;
    host_->require_room(prompt.text.size(), "prompt");
    host_->require_room(wanted.suffix->size(), "suffix");
    add(prompt.is_ids ? prompt.ids : host_->tokenize(prompt.text, flags));
    out.push_back(special.fim_suffix);
    add(host_->tokenize(*wanted.suffix, flags));
    out.push_back(special.fim_middle);
    return out;
}

void Service::completion(Call &call, Json body) {
    const CompletionWanted wanted =
        read_completion(std::exchange(body, {}), options_.sampling, options_.lenient);
    require_model(wanted.model);
    require_writing();
    if (wanted.prompts.size() * wanted.best_of > options_.n_queue)
        throw ApiError(400, "more generations are requested than the queue holds", "prompt",
                       "invalid_value");
    const auto reply = std::make_shared<CompletionReply>(call.exchange, shape_of(wanted), wanted,
                                                         false, wanted.prompts.size());
    TextRequest request = text_request(call, wanted, reply);
    request.scores = wanted.echo && wanted.logprobs;
    std::vector<std::shared_ptr<Job>> jobs;
    for (uint32_t i = 0; i < wanted.prompts.size(); i++) {
        const std::vector<int32_t> ids = completion_ids(wanted, wanted.prompts[i]);
        request.echoes_special = !wanted.prompts[i].is_ids;
        add_jobs(jobs, call, request, ids, i);
    }
    std::vector<std::string> echoes;
    for (uint32_t i = 0; wanted.echo && i < reply->n_texts(); i++) {
        const TextOrIds &prompt = wanted.prompts[i / wanted.best_of];
        const uint32_t flags = wanted.return_special ? GGUFX_DETOKENIZE_KEEP_SPECIAL : 0;
        echoes.push_back(prompt.is_ids ? host_->detokenize(prompt.ids, flags) : prompt.text);
    }
    start(call, *reply, std::move(jobs), echoes);
}

} // namespace ggufx::cli
