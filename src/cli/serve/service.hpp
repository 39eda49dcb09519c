// What is asked by path, and who answers: at once, or one thread after the other that reads bodies,
// makes prompts of them and hands these to the engine; vectors and snapshots have a thread of theirs.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/completion_writer.hpp"
#include "serve/engine_thread.hpp"
#include "serve/tickets.hpp"
#include "serve/worker.hpp"

namespace ggufx::cli {

struct ServiceOptions {
    SamplingDefaults sampling;
    uint32_t given_sampling = 0; // GGUFX_SAMPLING_*: of these the model's own do not count
    SchedulerOptions scheduling;
    size_t n_queue = 256;        // texts that wait; more get 429
    size_t n_per_key = 0;        // of a key, waiting and in work; 0 = any number
    double request_seconds = 0;  // that an answer has in all; 0 = any time
    bool share_prefixes = false; // between keys
    bool lenient = false;
    bool shows_slots = false;
    std::string slot_folder; // where snapshots are; empty: none are taken
};

class Service {
public:
    explicit Service(const ServiceOptions &options);
    ~Service();

    void ready(std::unique_ptr<ModelHost> host); // once; until then it has no model

    struct Route;
    // Throws ApiError where there is no such path, or not with this method.
    static const Route &find(const std::string &method, const std::string &path);
    static bool needs_key(const Route &route);
    static bool takes_body(const Route &route);

    // Answers now or later.
    void take(std::shared_ptr<Exchange> exchange, const Route &route, const std::string &path,
              std::string body);
    void drain(); // takes no more requests
    bool is_idle();
    void stop() { // ends what is in work, soon
        stops_ = true;
        if (engine_) engine_->stop();
    }
    std::optional<RanksLost> lost() { return engine_ ? engine_->lost() : std::nullopt; }
    Metrics &metrics() { return metrics_; }

private:
    struct Call {
        std::shared_ptr<Exchange> exchange;
        const Route *route;
        std::string path, body;
        double taken;
    };
    void answer(Call &call);
    static void respond_error(Exchange &exchange, const std::function<void()> &work);
    void require_model(const std::string &name) const;
    void require_writing() const;
    void use_model_sampling();
    void require_host() const; // throws 503 while there is none, or none to be trusted

    // Answered at once.
    void page(Exchange &exchange, const std::string &path);
    void no_icon(Exchange &exchange, const std::string &path);
    void openapi(Exchange &exchange, const std::string &path);
    void health(Exchange &exchange, const std::string &path);
    void alive(Exchange &exchange, const std::string &path);
    void models(Exchange &exchange, const std::string &path);
    void metrics_text(Exchange &exchange, const std::string &path);
    void props(Exchange &exchange, const std::string &path);
    // service.cpp
    void tokenize(Call &call, const Json &body);
    void detokenize(Call &call, const Json &body);
    void apply_template(Call &call, const Json &body);
    // service_completions.cpp
    void chat(Call &call, const Json &body);
    void responses(Call &call, const Json &body);
    void completion(Call &call, const Json &body);
    std::vector<int32_t> prompt_ids(const std::string &text, bool parse_special) const;
    std::vector<int32_t> completion_ids(const CompletionWanted &wanted, const TextOrIds &prompt);
    struct Texts { // of a request: best_of of each prompt
        const Wanted &wanted;
        std::shared_ptr<Reply> reply;
        uint64_t seed;
        const AnswerPlan *plan; // of a conversation, as are these
        const Prompt *prompt;
        std::string tools;
        bool parallel_calls;
        bool scores; // the prompt's tokens, too
    };
    void write_chat(Call &call, const ChatWanted &wanted, const Prompt &prompt,
                    std::shared_ptr<Reply> reply, uint64_t seed);
    void add_jobs(std::vector<std::shared_ptr<Job>> &jobs, const Call &call, const Texts &texts,
                  const std::vector<int32_t> &ids, uint32_t prompt_index);
    void start(const Call &call, Reply &reply, std::vector<std::shared_ptr<Job>> jobs);
    uint64_t cache_of(uint64_t owner, const std::string &conversation) const;
    // service_embeddings.cpp
    void embeddings(Call &call, const Json &body);
    void rerank(Call &call, const Json &body);
    void embed_later(Call &call, std::vector<std::vector<int32_t>> texts,
                     std::function<Json(std::vector<float>)> object);
    // service_slots.cpp
    void slots(Call &call, const Json &body);
    void slot_action(Call &call, const Json &body);
    void save_slot(Call &call, uint32_t slot, const std::string &path);
    void restore_slot(Call &call, uint32_t slot, const std::string &path);

    ServiceOptions options_;
    Metrics metrics_;
    Tickets tickets_;
    uint64_t created_;
    std::unique_ptr<ModelHost> host_;
    std::unique_ptr<EngineThread> engine_; // NULL of a model that writes no text
    SessionBackend *machine_ = nullptr;    // the engine's
    std::atomic<bool> is_ready_ = false, drains_ = false, stops_ = false;
    std::mutex mutex_;
    Worker vectors_, reader_; // the reader ends first: it hands on to the others
};

void respond_json(Exchange &exchange, const Json &value, int status = 200);

} // namespace ggufx::cli
