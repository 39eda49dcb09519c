// Routes, and the thread that reads requests; what texts become is in service_texts.cpp.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include <ctime>
#include <fmt/format.h>

namespace ggufx::cli {

struct Service::Route {
    const char *method, *path;
    bool needs_key, is_prefix;
    void (Service::*now)(Exchange &, const std::string &); // answers at once, or
    void (Service::*later)(Call &, const Json &);          // of a body
};

const Service::Route &Service::find(const std::string &method, const std::string &path) {
    static const Route routes[] = {
        {"GET", "/health", false, false, &Service::health, nullptr},
        {"GET", "/v1/models/", true, true, &Service::models, nullptr},
        {"GET", "/v1/models", true, false, &Service::models, nullptr},
        {"GET", "/metrics", true, false, &Service::metrics_text, nullptr},
        {"GET", "/props", true, false, &Service::props, nullptr},
        {"POST", "/v1/chat/completions", true, false, nullptr, &Service::chat},
        {"POST", "/v1/completions", true, false, nullptr, &Service::completion},
        {"POST", "/v1/embeddings", true, false, nullptr, &Service::embeddings},
        {"POST", "/tokenize", true, false, nullptr, &Service::tokenize},
        {"POST", "/detokenize", true, false, nullptr, &Service::detokenize},
        {"POST", "/apply-template", true, false, nullptr, &Service::apply_template},
    };
    const std::string asked = method == "HEAD" ? "GET" : method;
    const Route *other = nullptr;
    for (const Route &route : routes) {
        if (route.is_prefix ? !path.starts_with(route.path) : path != route.path) continue;
        if (asked == route.method) return route;
        other = &route;
    }
    if (other)
        throw ApiError(405, fmt::format("{} takes {}", other->path, other->method), "",
                       "method_not_allowed");
    throw ApiError(404, "there is nothing under this path", "", "unknown_path");
}

bool Service::needs_key(const Route &route) {
    return route.needs_key;
}

bool Service::takes_body(const Route &route) {
    return route.later != nullptr;
}

Service::Service(ModelHost &host, const ServiceOptions &options)
    : host_(host), options_(options), created_(static_cast<uint64_t>(std::time(nullptr))) {
    if (host.writes())
        engine_ = std::make_unique<EngineThread>(host.take_machine(), options.scheduling, metrics_);
    thread_ = std::thread([this] { run(); });
}

Service::~Service() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        wake_.notify_one();
    }
    thread_.join();
}

void Service::drain() {
    const std::lock_guard lock(mutex_); // what take() began to queue is there
    drains_ = true;
}

bool Service::is_idle() {
    const std::lock_guard lock(mutex_);
    return calls_.empty() && !is_busy_ && (!engine_ || engine_->is_idle());
}

void Service::take(std::shared_ptr<Exchange> exchange, const Route &route, const std::string &path,
                   std::string body) {
    if (route.now) {
        try {
            (this->*route.now)(*exchange, path);
        } catch (const ApiError &error) { exchange->respond(error); }
        return;
    }
    const std::lock_guard lock(mutex_);
    if (drains_) {
        exchange->respond(ApiError(503, "the server ends", "", "draining"));
        return;
    }
    if (calls_.size() + (engine_ ? engine_->n_waiting() : 0) >= options_.n_queue) {
        exchange->respond(ApiError(429, "the queue is full", "", "queue_full"));
        return;
    }
    calls_.push_back({std::move(exchange), &route, std::move(body), monotonic_seconds()});
    wake_.notify_one();
}

void Service::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        is_busy_ = false;
        wake_.wait(lock, [&] { return ends_ || !calls_.empty(); });
        if (ends_) return;
        Call call = std::move(calls_.front());
        calls_.pop_front();
        is_busy_ = true;
        lock.unlock();
        if (!call.exchange->is_gone()) answer(call);
        call.exchange.reset();
        lock.lock();
    }
}

void Service::answer(Call &call) {
    try {
        const Json body = read_body(call.body);
        call.body = {};
        (this->*call.route->later)(call, body);
    } catch (const ApiError &error) {
        call.exchange->respond(error);
    } catch (const Failure &failure) {
        call.exchange->respond(
            ApiError(failure.exit_code == kNoMemory ? 503 : 500, failure.what()));
    } catch (const std::bad_alloc &) {
        call.exchange->respond(ApiError(503, "out of memory"));
    } catch (const std::exception &error) { call.exchange->respond(ApiError(500, error.what())); }
}

// ---- what is answered at once ----

static void respond_json(Exchange &exchange, const Json &value, int status = 200) {
    exchange.respond(status, "application/json", value.dump() + "\n");
}

void Service::health(Exchange &exchange, const std::string &) {
    if (drains_)
        exchange.respond(ApiError(503, "the server ends", "", "draining"));
    else
        respond_json(exchange, Json{{"status", "ok"}});
}

void Service::models(Exchange &exchange, const std::string &path) {
    Json model = Json{{"id", host_.name()},
                      {"object", "model"},
                      {"created", created_},
                      {"owned_by", "ggufx"},
                      {"context_length", host_.n_context()},
                      {"parameters", host_.facts().n_parameters},
                      {"architecture", host_.facts().architecture}};
    if (path == "/v1/models") {
        Json list = Json::array();
        list.push_back(model);
        respond_json(exchange, Json{{"object", "list"}, {"data", list}});
        return;
    }
    const std::string id = path.substr(std::string("/v1/models/").size());
    require_model(id.empty() ? "-" : id);
    respond_json(exchange, model);
}

void Service::metrics_text(Exchange &exchange, const std::string &) {
    exchange.respond(200, "text/plain; version=0.0.4", metrics_.text());
}

void Service::props(Exchange &exchange, const std::string &) {
    const SamplingDefaults &s = options_.sampling;
    respond_json(exchange,
                 Json{{"version", ggufx_version()},
                      {"model", host_.name()},
                      {"system_fingerprint", host_.fingerprint()},
                      {"architecture", host_.facts().architecture},
                      {"n_context", host_.n_context()},
                      {"n_vocab", host_.facts().n_vocab},
                      {"chat_template", host_.has_template()},
                      {"embeddings", host_.embeds()},
                      {"decode", options_.scheduling.answers == Path::rows ? "rows" : "tiles"},
                      {"sampling", Json{{"temperature", static_cast<double>(s.temperature)},
                                        {"top_p", static_cast<double>(s.top_p)},
                                        {"top_k", s.top_k},
                                        {"min_p", static_cast<double>(s.min_p)}}}});
}

// ---- what needs no engine ----

void Service::require_model(const std::string &name) const {
    if (name.empty() || name == host_.name()) return;
    throw ApiError(404,
                   fmt::format("there is no model \"{}\" here, but \"{}\"",
                               escape(name.substr(0, 80)), escape(host_.name())),
                   "model", "model_not_found");
}

void Service::tokenize(Call &call, const Json &body) {
    const TokenizeWanted wanted = read_tokenize(body, options_.lenient);
    const uint32_t flags = (wanted.add_special ? GGUFX_TOKENIZE_ADD_SPECIAL : 0) |
                           (wanted.parse_special ? GGUFX_TOKENIZE_PARSE_SPECIAL : 0);
    Json tokens = Json::array();
    for (const int32_t id : host_.tokenize(wanted.content, flags)) {
        if (wanted.with_pieces)
            tokens.push_back(Json{{"id", id}, {"piece", json_bytes(host_.piece(id))}});
        else
            tokens.push_back(id);
    }
    respond_json(*call.exchange, Json{{"tokens", tokens}});
}

void Service::detokenize(Call &call, const Json &body) {
    const std::vector<int32_t> ids = read_detokenize(body, options_.lenient);
    host_.check(ids, "tokens");
    respond_json(*call.exchange,
                 Json{{"content", host_.detokenize(ids, GGUFX_DETOKENIZE_KEEP_SPECIAL)}});
}

void Service::apply_template(Call &call, const Json &body) {
    const ChatWanted wanted = read_template(body, options_.lenient);
    respond_json(*call.exchange, Json{{"prompt", host_.render(wanted)}});
}

} // namespace ggufx::cli
