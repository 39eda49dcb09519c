// What is asked by path, and who answers: at once, or one thread after the other that reads bodies,
// makes prompts of them and hands these to the engine.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/engine_thread.hpp"
#include "serve/text_writer.hpp"

#include <deque>

namespace ggufx::cli {

struct ServiceOptions {
    SamplingDefaults sampling;
    SchedulerOptions scheduling;
    size_t n_queue = 256; // texts that wait; more get 429
    bool lenient = false;
};

class Service {
public:
    Service(ModelHost &host, const ServiceOptions &options);
    ~Service();

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
    void stop() {
        if (engine_) engine_->stop();
    }
    Metrics &metrics() { return metrics_; }

private:
    struct Call {
        std::shared_ptr<Exchange> exchange;
        const Route *route;
        std::string body;
        double taken;
    };
    void run();
    void answer(Call &call);
    void require_model(const std::string &name) const;
    void require_writing() const;

    void health(Exchange &exchange, const std::string &path);
    void models(Exchange &exchange, const std::string &path);
    void metrics_text(Exchange &exchange, const std::string &path);
    void props(Exchange &exchange, const std::string &path);
    void chat(Call &call, const Json &body);
    void completion(Call &call, const Json &body);
    void embeddings(Call &call, const Json &body);
    void tokenize(Call &call, const Json &body);
    void detokenize(Call &call, const Json &body);
    void apply_template(Call &call, const Json &body);
    std::vector<int32_t> completion_ids(const CompletionWanted &wanted, const TextOrIds &prompt);
    std::shared_ptr<Reply> make_reply(const Call &call, const Wanted &wanted, size_t n_prompts,
                                      bool is_chat, uint64_t seed) const;
    struct Texts { // of a request: n of each prompt
        const Wanted &wanted;
        std::shared_ptr<Reply> reply;
        uint64_t seed;
        const Grammar *grammar;
        const Prompt *prompt; // of a conversation
        std::string tools;
    };
    void add_jobs(std::vector<std::shared_ptr<Job>> &jobs, const Call &call, const Texts &texts,
                  const std::vector<int32_t> &ids, uint32_t prompt_index);
    void start(const Call &call, const Wanted &wanted, std::vector<std::shared_ptr<Job>> jobs);

    ModelHost &host_;
    ServiceOptions options_;
    Metrics metrics_;
    uint64_t created_;
    std::unique_ptr<EngineThread> engine_; // NULL of a model that writes no text
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Call> calls_;
    bool ends_ = false, is_busy_ = false;
    std::atomic<bool> drains_ = false;
    std::thread thread_;
};

} // namespace ggufx::cli
