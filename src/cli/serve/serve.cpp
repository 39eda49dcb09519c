// ggufx serve: HTTP server with the OpenAI API.
// SPDX-License-Identifier: MIT
#include "common/signals.hpp"
#include "common/text.hpp"
#include "serve/listen.hpp"
#include "serve/serve_options.hpp"

#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ggufx::cli {

namespace {

volatile std::sig_atomic_t g_reload = 0; // process-wide, since signal handlers are

void on_hangup(int) {
    g_reload = 1;
    wake();
}

void prepare_signals() {
    wake_descriptor();
    std::signal(SIGPIPE, SIG_IGN); // a disconnected client must not end the server
    struct sigaction action = {};
    action.sa_handler = on_hangup;
    sigaction(SIGHUP, &action, nullptr);
}

void say(const Globals &globals, const std::string &text) {
    if (!globals.quiet) std::fprintf(stderr, "%s\n", text.c_str());
}

[[noreturn]] void refuse_exposure(const std::string &where) {
    throw Failure(kUsage, fmt::format("{}: other machines could use the model; use --api-key-file "
                                      "FILE to require a key, or --no-auth",
                                      where));
}

// Runs before the model is loaded, so that bad options fail at once.
Listening listen_as_told(const ServeOptions &options) {
    const bool is_open = options.no_auth || !options.guard.key_file.empty();
    if (options.listen.starts_with("unix:")) return listen_on_path(options.listen.substr(5));
    if (options.listen == "systemd") {
        const Listening at = listen_on_given();
        if (!at.is_loopback && !is_open) refuse_exposure("--listen systemd");
        return at;
    }
    if (!options.listen.empty())
        throw Failure(kUsage, "--listen: \"" + escape(options.listen) +
                                  "\" is neither unix:PATH nor systemd");
    if (!is_open && !is_loopback_name(options.address))
        refuse_exposure("--host " + escape(options.address));
    return listen_on(options.address, options.port);
}

class ServeVerb {
public:
    ServeVerb(const Globals &globals, ServeOptions options)
        : globals_(globals), options_(std::move(options)) {}
    int run();

private:
    void load(Service &service, const Listening &at);
    void wait(HttpServer &server, Service &service, Guard &guard);
    void reload(HttpServer &server, Guard &guard);
    void drain(HttpServer &server, Service &service);
    bool is_rank() const { return options_.host.session.making.group.is_set(); }

    const Globals &globals_;
    ServeOptions options_;
};

// Until the model is loaded, requests get an error that says so.
void ServeVerb::load(Service &service, const Listening &at) {
    notify_manager("STATUS=loading the model");
    auto host = std::make_unique<ModelHost>(globals_, options_.host);
    const ModelHost &model = *host;
    service.ready(std::move(host));
    say(globals_,
        fmt::format("{} on {} ({} parallel requests, {} tokens each, {}, {})", escape(model.name()),
                    escape(at.url), model.writes() ? options_.host.n_parallel : 0,
                    model.n_context(), options_.decode, model.fingerprint()));
    notify_manager("READY=1\nSTATUS=serving " + escape(model.name()));
}

void ServeVerb::reload(HttpServer &server, Guard &guard) {
    struct timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    notify_manager(
        fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1000000LL + now.tv_nsec / 1000));
    try {
        guard.read_keys();
        server.reopen_log();
        say(globals_, "keys were read and the log was opened again");
    } catch (const Failure &failure) {
        tell(globals_, failure); // keeps the old keys
    } catch (const std::bad_alloc &) {
        std::fputs("ggufx: out of memory: the old keys and the old log are kept\n", stderr);
    }
    notify_manager("READY=1");
}

// Runs until a signal, or until a rank is lost. Sleeps while there are no connections.
void ServeVerb::wait(HttpServer &server, Service &service, Guard &guard) {
    while (pending_signal() == 0 && !service.lost()) {
        if (g_reload) { // the signal may have arrived during loading
            g_reload = 0;
            reload(server, guard);
        }
        const double seconds = server.close_slow();
        wait_for_wake(seconds < 0 ? -1 : static_cast<int>(seconds * 1e3));
    }
}

// Lets running requests finish, until the deadline. Then waits shortly for slow clients to receive
// the rest.
void ServeVerb::drain(HttpServer &server, Service &service) {
    const double send_seconds = service.lost() ? 0.5 : 2; // the launcher waits for all ranks
    notify_manager("STOPPING=1\nSTATUS=finishing the running requests");
    service.drain();
    if (!service.lost())
        say(globals_,
            fmt::format("shutting down: running requests have {} s (a second signal ends them now)",
                        options_.drain_seconds));
    const double start = monotonic_seconds();
    while (!service.is_idle() && monotonic_seconds() - start < options_.drain_seconds)
        poll(nullptr, 0, 20);
    // The HTTP library must not stop while a connection waits for a response. Waits for the running
    // model call, and also stops requests that became prompts in the meantime.
    const double stopped = monotonic_seconds();
    while (!service.is_idle() ||
           (server.n_open() > 0 && monotonic_seconds() - stopped < send_seconds)) {
        service.stop();
        poll(nullptr, 0, 5);
    }
}

// Large allocations are returned to the system when they are freed. By default the C library raises
// this limit up to 32 MiB as they are freed, and then keeps them in its heaps.
void prepare_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

int ServeVerb::run() {
    prepare_memory();
    prepare_signals();
    prepare_sockets(options_);
    const Listening at = listen_as_told(options_);
    options_.guard.is_local_socket = at.is_path;
    Guard guard(options_.guard);
    Service service(options_.service);
    HttpServer server(at.socket, service, guard, options_.http);
    try {
        load(service, at);
    } catch (const Failure &) {
        service.drain(); // answers the requests that arrived during loading
        if (pending_signal() == 0 || is_rank()) throw; // other ranks may wait for this one
    }
    wait(server, service, guard);
    drain(server, service);
    if (const std::optional<RanksLost> lost = service.lost()) throw RanksLost(*lost);
    return kOk;
}

// Runs a rank other than the first; ends when the first one ends or is lost.
int follow_first(const Globals &globals, const ServeOptions &options) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) std::signal(number, SIG_IGN);
    RankHost(globals, options.host).follow();
    return kOk;
}

int serve(const Globals &globals, const ServeOptions &options) {
    const GroupChoice &group = options.host.session.making.group;
    return group.is_first() ? ServeVerb(globals, options).run() : follow_first(globals, options);
}

} // namespace

void add_serve(Tool &tool) {
    auto options = std::make_shared<ServeOptions>();
    Command sub = tool.app.add_command("serve", "serve the OpenAI API over HTTP");
    add_serve_options(sub, *options);
    sub.examples("  ggufx serve\n"
                 "  ggufx serve model.gguf --parallel 16 --ctx 4096\n"
                 "  ggufx serve model.gguf --host 0.0.0.0 --api-key-file keys.txt\n"
                 "  mpirun -np 2 --enable-recovery ggufx serve model.gguf -t 8 --group mpi");
    tool.verbs.emplace_back(sub, [&tool, options] {
        GroupChoice &group = options->host.session.making.group;
        complete(*options);
        return run_as_rank(tool.globals, group, options->host.model,
                           [&](const Globals &own) { return serve(own, *options); });
    });
}

} // namespace ggufx::cli
