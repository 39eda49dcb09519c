// Router and request handlers. Simple paths are answered at once; reader threads parse the other
// bodies, build prompts and pass them to the engine. Embeddings and snapshots have their own thread.
// In both places the API keys take turns.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/completion_writer.hpp"
#include "serve/engine_thread.hpp"
#include "serve/fair_workers.hpp"
#include "serve/slot_folder.hpp"
#include "serve/tickets.hpp"

namespace ggufx::cli {

struct ServiceOptions {
    SamplingDefaults sampling;
    // GGUFX_SAMPLING_* bits set on the command line; they override the model's defaults.
    uint32_t given_sampling = 0;
    SchedulerOptions scheduling;
    uint64_t n_queue = 256;       // maximum queued requests; more get 429
    uint64_t n_per_key = 0;       // maximum requests per key, queued and running; 0 = no limit
    unsigned request_seconds = 0; // time limit for a whole request; 0 = no limit
    bool share_prefixes = false;  // share prefixes between keys
    bool lenient = false;
    bool replaces_surrogates = true; // lone surrogates become U+FFFD; otherwise they are refused
    size_t most_request_memory = 256u << 20; // see RequestMemory
    bool shows_slots = false;
    std::string slot_folder; // directory of snapshots; empty: snapshots are disabled
    SlotQuota slot_quota;
};

class Service {
    struct Call;

public:
    explicit Service(const ServiceOptions &options);
    ~Service();

    void ready(std::unique_ptr<ModelHost> host); // sets the model, once; there is none before

    struct Route {
        const char *method, *path;
        bool needs_key, is_prefix;
        void (Service::*now)(Exchange &, const std::string &); // handler that answers at once, or
        void (Service::*later)(Call &, Json);                  // handler that needs the parsed body

        bool is_of(const std::string &asked) const {
            return is_prefix ? asked.starts_with(path) : asked == path;
        }
        bool takes_body() const { return later && std::string_view(method) != "GET"; }
        static std::span<const Route> all();
    };
    // Throws ApiError if there is no such path, or not with this method.
    static const Route &find(const std::string &method, const std::string &path);
    static std::string methods_of(const std::string &path); // "GET, HEAD"

    // Answers immediately or queues the request.
    void take(std::shared_ptr<Exchange> exchange, const Route &route, const std::string &path,
              std::string body);
    void drain(); // refuses new requests
    bool is_idle();
    void stop() { // ends running requests soon
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
        std::shared_ptr<void> ticket; // counts for --per-key
    };
    void answer(Call &call);
    // Calls work() and responds with its error, if any. Without memory for a response,
    // responds with one that needs none.
    template <class Work> static void respond_error(Exchange &exchange, const Work &work) noexcept {
        try {
            work();
        } catch (const std::exception &) { respond_current_error(exchange); }
    }
    static void respond_current_error(Exchange &exchange) noexcept;
    std::shared_ptr<void> take_ticket(const Exchange &exchange) const; // throws 429
    // Throws 429 if so many more requests exceed the queue and the share of the key, which already
    // has their tickets.
    void require_queue(const Exchange &exchange, size_t n_more);
    void require_model(const std::string &name) const;
    void require_writing() const;
    void use_model_sampling();
    void require_host() const; // throws 503 without a model, or after its file has changed

    // Handlers of endpoints: in service.cpp and the service_*.cpp of their subject.
#define GGUFX_NOW(method, path, needs_key, is_prefix, handler)                                     \
    void handler(Exchange &exchange, const std::string &asked);
#define GGUFX_ALSO(method, path, needs_key, is_prefix, handler)
#define GGUFX_LATER(method, path, needs_key, is_prefix, handler)                                   \
    void handler(Call &call, Json body);
#include "serve/endpoints.def"
#undef GGUFX_NOW
#undef GGUFX_ALSO
#undef GGUFX_LATER

    // service_completions.cpp
    std::vector<int32_t> prompt_ids(const std::string &text, bool parse_special) const;
    std::vector<int32_t> completion_ids(const CompletionWanted &wanted, const TextOrIds &prompt);
    // Returns a request for text; the members after `deadline` are 0.
    TextRequest text_request(const Call &call, const Wanted &wanted,
                             std::shared_ptr<Reply> reply) const;
    ReplyShape shape_of(const Wanted &wanted) const;
    void write_chat(Call &call, const ChatWanted &wanted, const SharedPrompt &prompt,
                    std::shared_ptr<Reply> reply);
    void add_jobs(std::vector<std::shared_ptr<Job>> &jobs, const Call &call,
                  const TextRequest &request, const std::vector<int32_t> &ids,
                  uint32_t prompt_index);
    void start(const Call &call, Reply &reply, std::vector<std::shared_ptr<Job>> jobs,
               const std::vector<std::string> &echoes);
    uint64_t cache_of(uint64_t owner, const std::string &conversation) const;
    // service_embeddings.cpp
    struct EmbeddingJob;
    bool embed_piece(EmbeddingJob &job);
    void embed_later(EmbeddingJob job);
    // service_slots.cpp
    void save_slot(Call &call, uint32_t slot, const std::string &name);
    void restore_slot(Call &call, uint32_t slot, const std::string &name);
    void require_snapshots(uint32_t slot) const;
    std::string snapshot_path(const Call &call, const std::string &name) const;

    ServiceOptions options_;
    Metrics metrics_;
    Tickets tickets_;
    uint64_t created_;
    std::unique_ptr<ModelHost> host_;
    std::unique_ptr<EngineThread> engine_; // NULL for embedding-only models
    SessionBackend *backend_ = nullptr;    // owned by the engine
    std::atomic<bool> is_ready_ = false, drains_ = false, stops_ = false;
    std::mutex mutex_;
    // Declared last: the readers end first, since they pass work to the others.
    FairWorkers vectors_, readers_;
};

void respond_json(Exchange &exchange, const Json &value, int status = 200);

// Responds with a body that makes itself in parts: append_to(out) returns false after the last one.
template <class Body> void respond_parts(Exchange &exchange, std::shared_ptr<Body> body) {
    exchange.respond_parts("application/json",
                           [body](std::string &out) { return body->append_to(out); });
}

} // namespace ggufx::cli
