// ggufx serve: a model over HTTP, with the requests and answers of the OpenAI interface.
// SPDX-License-Identifier: MIT
#include "floor/signals.hpp"
#include "floor/text.hpp"
#include "serve/http.hpp"
#include "serve/listen.hpp"

#include <csignal>
#include <fmt/format.h>
#include <poll.h>

namespace ggufx::cli {

namespace {

struct ServeOptions {
    HostOptions host;
    ServiceOptions service;
    GuardOptions guard;
    HttpOptions http;
    std::string address = "127.0.0.1", listen, decode = "rows";
    unsigned port = 8080, drain_seconds = 30, most_body_mib = 8, prompt_ms = 100;
    uint64_t n_queue = 256;
    bool no_auth = false;
};

volatile std::sig_atomic_t g_reload = 0; // the process's, as signals are

void on_hangup(int) {
    g_reload = 1;
}

void prepare_signals() {
    std::signal(SIGPIPE, SIG_IGN); // a client that leaves ends no server
    struct sigaction action = {};
    action.sa_handler = on_hangup;
    sigaction(SIGHUP, &action, nullptr);
}

void say(const Globals &globals, const std::string &text) {
    if (!globals.quiet) std::fprintf(stderr, "%s\n", text.c_str());
}

// Before a model is loaded: what is refused is so at once.
void check_exposure(const ServeOptions &options) {
    if (!options.listen.empty() && !options.listen.starts_with("unix:"))
        throw Failure(kUsage, "--listen: \"" + escape(options.listen) + "\" is not unix:PATH");
    if (!options.listen.empty() || options.no_auth || !options.guard.key_file.empty()) return;
    if (is_loopback_name(options.address)) return;
    throw Failure(kUsage, fmt::format("--host {}: everybody who reaches this machine could use the "
                                      "model; --api-key-file FILE asks for a key, --no-auth does "
                                      "not",
                                      escape(options.address)));
}

class ServeVerb {
public:
    ServeVerb(const Globals &globals, ServeOptions options)
        : globals_(globals), options_(std::move(options)) {}
    int run();

private:
    void wait(HttpServer &server, Guard &guard);
    void drain(HttpServer &server, Service &service);

    const Globals &globals_;
    ServeOptions options_;
};

// Until a signal ends the server.
void ServeVerb::wait(HttpServer &server, Guard &guard) {
    while (pending_signal() == 0) {
        poll(nullptr, 0, 1000);
        server.close_slow();
        if (!g_reload) continue;
        g_reload = 0;
        try {
            guard.read_keys();
            say(globals_, "the keys were read again");
        } catch (const Failure &failure) {
            tell(globals_, failure); // the old ones go on
        }
    }
}

// What is in work ends by itself, or at the deadline; then it has been sent, or its reader is slow.
void ServeVerb::drain(HttpServer &server, Service &service) {
    constexpr double send_seconds = 2;
    service.drain();
    say(globals_, fmt::format("ending: what is in work has {} s (a second signal ends it now)",
                              options_.drain_seconds));
    const double start = monotonic_seconds();
    while (!service.is_idle() && monotonic_seconds() - start < options_.drain_seconds)
        poll(nullptr, 0, 20);
    // No connection may wait for an answer when the HTTP library ends: a call of the model that still
    // runs is waited for, and what was made a prompt of meanwhile is stopped, too.
    const double stopped = monotonic_seconds();
    while (!service.is_idle() ||
           (server.n_open() > 0 && monotonic_seconds() - stopped < send_seconds)) {
        service.stop();
        poll(nullptr, 0, 5);
    }
}

int ServeVerb::run() {
    prepare_signals();
    check_exposure(options_);
    const bool is_path = !options_.listen.empty();
    options_.guard.is_local_socket = is_path;
    options_.service.scheduling.answers = options_.host.answers =
        options_.decode == "tiles" ? Path::tiles : Path::rows;
    options_.service.scheduling.prompt_seconds = options_.prompt_ms / 1e3;
    options_.service.n_queue = options_.n_queue;
    options_.http.most_body = static_cast<size_t>(options_.most_body_mib) << 20;
    Guard guard(options_.guard);
    Listening at = is_path ? listen_on_path(options_.listen.substr(5))
                           : listen_on(options_.address, options_.port);
    ModelHost host(globals_, options_.host);
    Service service(host, options_.service);
    HttpServer server(at.socket, service, guard, options_.http);
    say(globals_,
        fmt::format("{} on {} ({} texts at once, {} tokens each, {})", escape(host.name()),
                    escape(at.url), host.writes() ? options_.host.n_parallel : 0, host.n_context(),
                    host.fingerprint()));
    wait(server, guard);
    drain(server, service);
    return kOk;
}

void add_limits(Command &sub, ServeOptions &options) {
    sub.option("--api-key-file", options.guard.key_file,
               "keys, one a line, of which a request needs one; read again on SIGHUP")
        .value("FILE");
    sub.flag("--no-auth", options.no_auth, "no key for an address that others reach");
    sub.option("--allow-host", options.guard.hosts,
               "a name this machine goes by in requests, beside localhost and numbers")
        .value("NAME")
        .repeatable();
    sub.option("--cors", options.guard.origins, "pages of this origin may ask: https://example.org")
        .value("ORIGIN")
        .repeatable();
    sub.option("--connections", options.http.n_connections, "at once; default 256")
        .between(1, 65536);
    sub.option("--per-address", options.http.n_per_address,
               "connections of one address, 0 = as many; default 0");
    sub.option("--queue", options.n_queue, "texts that wait at most; default 256")
        .between(1, 1u << 20);
    sub.option("--max-body", options.most_body_mib, "MiB of a request; default 8").between(1, 1024);
    sub.option("--drain", options.drain_seconds,
               "seconds that answers in work have after SIGTERM; default 30")
        .between(0, 86400);
    sub.flag("--lenient", options.service.lenient, "pass over fields of requests nobody documents");
    sub.option("--access-log", options.http.access_log,
               "a line of JSON for each request, without its text")
        .value("FILE");
}

void add_engine(Command &sub, ServeOptions &options) {
    sub.option("--parallel", options.host.n_parallel,
               "texts written at once, each with a context of its own; default 4")
        .between(1, 4096);
    sub.option("--batch", options.host.n_batch, "tokens computed at once; default 512");
    sub.option("--decode", options.decode,
               "how tokens of answers are computed: rows, or tiles, which are faster from about "
               "ten texts at once on; default rows")
        .one_of({"rows", "tiles"});
    sub.option("--prompt-share", options.prompt_ms,
               "milliseconds that a text waits for prompts of others; default 100")
        .between(1, 60000);
    sub.flag("--share-prefixes", options.service.scheduling.share_prefixes,
             "beginnings of prompts are shared between keys");
    sub.flag("--embeddings", options.host.embeddings, "vectors of a model that writes texts, too");
    SamplingDefaults &sampling = options.service.sampling;
    sub.option("--temp", sampling.temperature, "temperature of requests without one; default 1")
        .within(0.0, 1e6);
    sub.option("--top-k", sampling.top_k, "of requests without one, 0 = all; default 0");
    sub.option("--top-p", sampling.top_p, "of requests without one; default 1").within(0.0, 1.0);
    sub.option("--min-p", sampling.min_p, "of requests without one; default 0").within(0.0, 1.0);
    add_session_options(sub, options.host.session);
}

} // namespace

void add_serve(Tool &tool) {
    auto options = std::make_shared<ServeOptions>();
    Command sub =
        tool.app.add_command("serve", "answer requests of the OpenAI interface over HTTP");
    sub.option("MODEL", options->host.model, "GGUF file; default the embedded one");
    Option host = sub.option("--host", options->address, "address or name; default 127.0.0.1");
    host.value("ADDRESS");
    sub.option("--port", options->port, "0 = any that is free; default 8080").between(0, 65535);
    sub.option("--listen", options->listen, "a socket in the file system instead: unix:PATH")
        .value("ADDRESS")
        .excludes(host);
    sub.option("--alias", options->host.alias, "name of the model; default the file's");
    sub.option("--template", options->host.template_name,
               "a built-in format (chatml, llama3, ...) or a FILE with a template; default the "
               "model's")
        .value("TEMPLATE");
    add_engine(sub, *options);
    add_limits(sub, *options);
    sub.examples("  ggufx serve\n"
                 "  ggufx serve model.gguf --parallel 16 --ctx 4096\n"
                 "  ggufx serve model.gguf --host 0.0.0.0 --api-key-file keys.txt");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return ServeVerb(tool.globals, *options).run(); });
}

} // namespace ggufx::cli
