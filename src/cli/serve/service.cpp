// Routes, and endpoints without the engine; generation is in service_completions.cpp.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include "common/random.hpp"
#include "serve/page.hpp"
#include "serve/preparation.hpp"

#include <ctime>
#include <fmt/format.h>
#include <span>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ggufx::cli {

namespace {

// Keys whose requests are read at the same time; each has one thread at most.
constexpr size_t kReaders = 8;
constexpr size_t kLargeBody = 64u << 10;  // bytes
constexpr size_t kTrimmedBody = 1u << 20; // bytes

// Returns the memory of a large request to the system. The C library keeps what was freed, for each
// thread that reads requests.
void return_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace

std::span<const Service::Route> Service::Route::all() {
    static const Route routes[] = {
#define GGUFX_NOW(method, path, needs_key, is_prefix, handler)                                     \
    {method, path, needs_key, is_prefix, &Service::handler, nullptr},
#define GGUFX_ALSO GGUFX_NOW
#define GGUFX_LATER(method, path, needs_key, is_prefix, handler)                                   \
    {method, path, needs_key, is_prefix, nullptr, &Service::handler},
#include "serve/endpoints.def"
#undef GGUFX_NOW
#undef GGUFX_ALSO
#undef GGUFX_LATER
    };
    return routes;
}

std::string Service::methods_of(const std::string &path) {
    std::string out;
    for (const Route &route : Route::all()) {
        if (!route.is_of(path)) continue;
        if (!out.empty()) out += ", ";
        out += route.method;
        if (std::string_view(route.method) == "GET") out += ", HEAD";
    }
    return out;
}

const Service::Route &Service::find(const std::string &method, const std::string &path) {
    const std::string asked = method == "HEAD" ? "GET" : method;
    const Route *other = nullptr;
    for (const Route &route : Route::all()) {
        if (!route.is_of(path)) continue;
        if (asked == route.method) return route;
        other = &route;
    }
    if (other)
        throw ApiError(405, fmt::format("{} takes {}", other->path, methods_of(path)), "",
                       "method_not_allowed");
    throw ApiError(404, "there is nothing under this path", "", "unknown_path");
}

Service::Service(const ServiceOptions &options)
    : options_(options), tickets_(options.n_per_key),
      created_(static_cast<uint64_t>(std::time(nullptr))), vectors_(1), readers_(kReaders) {
    options_.scheduling.secret = random_number();
}

Service::~Service() = default;

// Sampling defaults in order of precedence: command line, model file, server.
void Service::use_model_sampling() {
    const ModelSampling &model = host_->model_sampling();
    SamplingDefaults &s = options_.sampling;
    const auto use = [&](uint32_t key, auto &value, auto of_model) {
        if (model.has(key) && !(options_.given_sampling & key)) value = of_model;
    };
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    use(GGUFX_SAMPLING_##KEY, s.field, model.facts.field);
#include "sampling/samplers.def"
}

void Service::ready(std::unique_ptr<ModelHost> host) {
    host_ = std::move(host);
    use_model_sampling();
    if (host_->writes()) {
        std::unique_ptr<SessionBackend> machine = host_->take_machine();
        backend_ = machine.get();
        engine_ = std::make_unique<EngineThread>(std::move(machine), options_.scheduling, metrics_);
    }
    is_ready_ = true; // publishes the members above to other threads
}

void Service::drain() {
    const std::lock_guard lock(mutex_); // waits until take() has queued its request
    drains_ = true;
}

bool Service::is_idle() {
    // Checks the workers in the order in which work is passed on.
    return readers_.is_idle() && vectors_.is_idle() && (!engine_ || engine_->is_idle()) &&
           vectors_.is_idle();
}

void Service::respond_current_error(Exchange &exchange) noexcept {
    try {
        try {
            throw;
        } catch (const ApiError &error) {
            exchange.respond(error);
        } catch (const Failure &failure) {
            exchange.respond(ApiError(failure.exit_code == kNoMemory ? 503 : 500, failure.what()));
        } catch (const std::bad_alloc &) {
            exchange.respond_out_of_memory();
        } catch (const std::exception &error) { exchange.respond(ApiError(500, error.what())); }
    } catch (const std::exception &) { exchange.respond_out_of_memory(); }
}

std::shared_ptr<void> Service::take_ticket(const Exchange &exchange) const {
    auto ticket = tickets_.take(exchange.asker());
    if (ticket) return ticket;
    throw ApiError(429,
                   fmt::format("the key has {} running and queued requests, which is the limit",
                               options_.n_per_key),
                   "", "key_limit");
}

void Service::require_queue(const Exchange &exchange, size_t n_more) {
    const size_t n_waiting = engine_ ? engine_->n_waiting() : 0;
    if (n_waiting + n_more <= options_.n_queue) return;
    // One key must not keep out the others.
    if (tickets_.exceeds_share(exchange.asker(), options_.n_queue))
        throw ApiError(429, "the queue is full", "", "queue_full");
}

void Service::take(std::shared_ptr<Exchange> exchange, const Route &route, const std::string &path,
                   std::string body) {
    if (route.now) {
        respond_error(*exchange, [&] { (this->*route.now)(*exchange, path); });
        return;
    }
    const std::lock_guard lock(mutex_);
    if (drains_) {
        exchange->respond(ApiError(503, "the server is shutting down", "", "draining"));
        return;
    }
    if (!is_ready_) {
        exchange->respond(ApiError(503, "the model is being loaded", "", "loading"));
        return;
    }
    respond_error(*exchange, [&] {
        const size_t body_bytes = body.size();
        auto call = std::make_shared<Call>(Call{exchange, &route, path, std::move(body),
                                                monotonic_seconds(), take_ticket(*exchange)});
        const size_t n_read = readers_.n_waiting() + vectors_.n_waiting();
        require_queue(*exchange, n_read + 1);
        // A key has two turns, so that its large bodies do not delay its small ones.
        const uint64_t owner = PrefixIndex::mixed(exchange->asker(), body_bytes >= kLargeBody);
        readers_.add(owner, [this, call] {
            if (!call->exchange->is_gone()) answer(*call);
            return false;
        });
    });
}

void Service::answer(Call &call) {
    const size_t n_body = call.body.size();
    respond_error(*call.exchange, [&] {
        require_host();
        const RequestMemory memory(n_body, options_.most_request_memory);
        const Preparation preparation(memory);
        Json body = Json::object();
        if (call.route->takes_body())
            body = read_body(std::exchange(call.body, {}), memory, options_.replaces_surrogates);
        (this->*call.route->later)(call, std::move(body));
    });
    if (n_body >= kTrimmedBody) return_memory();
}

// ---- endpoints answered at once ----

void respond_json(Exchange &exchange, const Json &value, int status) {
    exchange.respond(status, "application/json", value.dump() + "\n");
}

void Service::require_host() const {
    if (!is_ready_) throw ApiError(503, "the model is being loaded", "", "loading");
    host_->require_same_weights();
}

// Content-Security-Policy: allows only the page's own script and style, and requests to its origin.
void Service::page(Exchange &exchange, const std::string &) {
    exchange.respond(
        200, "text/html; charset=utf-8", std::string(page_html()),
        {{"Content-Security-Policy",
          fmt::format("default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; "
                      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                      page_script_hash(), page_style_hash())},
         {"X-Frame-Options", "DENY"},
         {"Referrer-Policy", "no-referrer"}});
}

// Browsers request an icon even if the page declares none.
void Service::no_icon(Exchange &exchange, const std::string &) {
    exchange.respond(204, "image/x-icon", "");
}

void Service::openapi(Exchange &exchange, const std::string &) {
    exchange.respond(200, "application/json", std::string(openapi_json()));
}

// Readiness check: load balancers send no requests unless the status is 200.
void Service::health(Exchange &exchange, const std::string &) {
    if (drains_) throw ApiError(503, "the server is shutting down", "", "draining");
    require_host();
    respond_json(exchange, Json{{"status", "ok"}});
}

// Liveness check: a process that responds needs no restart.
void Service::alive(Exchange &exchange, const std::string &) {
    respond_json(exchange, Json{{"status", "alive"}});
}

void Service::models(Exchange &exchange, const std::string &path) {
    require_host();
    Json model = Json{{"id", host_->name()},
                      {"object", "model"},
                      {"created", created_},
                      {"owned_by", "ggufx"},
                      {"context_length", host_->n_context()},
                      {"parameters", host_->facts().n_parameters},
                      {"architecture", host_->facts().architecture},
                      {"quantization", host_->quantization()}};
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
    if (is_ready_) metrics_.grammars(host_->grammars().counts());
    if (is_ready_) metrics_.weights(host_->memory());
    exchange.respond(200, "text/plain; version=0.0.4", metrics_.text());
}

void Service::props(Exchange &exchange, const std::string &) {
    require_host();
    const SamplingDefaults &s = options_.sampling;
    Json sampling = Json::object();
    const auto add = [&](const char *name, auto value) {
        if constexpr (std::floating_point<decltype(value)>)
            sampling[name] = static_cast<double>(value);
        else
            sampling[name] = value;
    };
#define SERVED(KEY, field, type, off, least, most, long_name, help) add(#field, s.field);
#include "sampling/samplers.def"
    const ModelSampling &model = host_->model_sampling();
    if (!model.is_empty()) sampling["model"] = sampling_json(model);
    respond_json(exchange,
                 Json{{"version", ggufx_version()},
                      {"model", host_->name()},
                      {"system_fingerprint", host_->fingerprint()},
                      {"architecture", host_->facts().architecture},
                      {"n_context", host_->n_context()},
                      {"n_vocab", host_->facts().n_vocab},
                      {"n_parallel", backend_ ? options_.scheduling.n_parallel : 0},
                      {"chat_template", host_->has_template()},
                      {"embeddings", host_->embeds() && !host_->ranks()},
                      {"rerank", host_->ranks()},
                      {"file_replaced", host_->is_file_replaced()},
                      {"decode", options_.scheduling.answers == Path::rows ? "row-wise" : "tiled"},
                      {"sampling", sampling}});
}

// ---- endpoints without the engine ----

void Service::require_model(const std::string &name) const {
    if (name.empty() || name == host_->name()) return;
    throw ApiError(404,
                   fmt::format("there is no model \"{}\", the server has \"{}\"",
                               escape(name.substr(0, 80)), escape(host_->name())),
                   "model", "model_not_found");
}

void Service::apply_template(Call &call, Json body) {
    const ChatWanted wanted = read_template(std::exchange(body, {}), options_.lenient);
    respond_json(*call.exchange, Json{{"prompt", host_->render(wanted)}});
}

} // namespace ggufx::cli
