// SPDX-License-Identifier: MIT
#include "serve/serve_options.hpp"

#include "common/random.hpp"

#include <climits>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace ggufx::cli {

namespace {

constexpr uint32_t kManyTexts = 10; // --parallel value from which the tiled path decodes faster

void add_address(Command &sub, ServeOptions &options) {
    sub.option("MODEL", options.host.model, "GGUF file (default the built-in model)");
    Option host = sub.option("--host", options.address,
                             "address or host name to listen on (default 127.0.0.1)");
    host.value("ADDRESS");
    sub.option("--port", options.port, "port, 0 = any free port (default 8080)").between(0, 65535);
    sub.option("--listen", options.listen,
               "listen on a Unix socket (unix:PATH) or on the socket that systemd opened (systemd)")
        .value("ADDRESS")
        .excludes(host);
    sub.option("--alias", options.host.alias,
               "name of the model in the API (default that of the file)");
    sub.option("--template", options.host.template_name,
               "chat template: a built-in format (chatml, llama3, ...) or a FILE (default that of "
               "the model)")
        .value("TEMPLATE");
}

void add_access(Command &sub, ServeOptions &options) {
    sub.option("--api-key-file", options.guard.key_file,
               "file of API keys, one per line; every request needs one; read again on SIGHUP")
        .value("FILE");
    sub.flag("--no-auth", options.no_auth,
             "require no key on an address that other machines reach");
    sub.option("--allow-host", options.guard.hosts,
               "host name that requests may use, besides localhost and IP addresses")
        .value("NAME")
        .repeatable();
    sub.option("--cors", options.guard.origins,
               "allow requests of browser pages from this origin: https://example.org")
        .value("ORIGIN")
        .repeatable();
    sub.option("--trusted-proxy", options.http.proxies,
               "proxy whose X-Forwarded-For is used; --per-address limits the requests of each "
               "forwarded address")
        .value("ADDRESS")
        .repeatable();
    sub.option("--access-log", options.http.access_log,
               "log one line of JSON per request, without its text; opened again on SIGHUP")
        .value("FILE");
    sub.flag("--lenient", options.service.lenient, "ignore unknown fields of requests");
    sub.flag("--slots", options.service.shows_slots,
             "enable GET /slots, which shows the contents of slots");
    sub.option("--slot-dir", options.service.slot_folder,
               "folder for snapshots of slots (/slots/N/save, /slots/N/restore)")
        .value("DIR");
    sub.option("--slot-quota", options.slot_quota_mib,
               "maximum size of the snapshots of a key in MiB, 0 = no limit (default 16384)")
        .between(0, 1u << 30);
}

void add_limits(Command &sub, ServeOptions &options) {
    sub.option("--connections", options.http.n_connections,
               "maximum number of connections (default 256)")
        .between(2, 65536);
    sub.option(
        "--per-address", options.http.n_per_address,
        "maximum number of connections per address except local ones, 0 = no limit (default 32)");
    sub.option("--per-key", options.service.n_per_key,
               "maximum number of running and queued requests per key, 0 = no limit (default 0)");
    sub.option("--queue", options.service.n_queue,
               "maximum number of queued requests (default 256)")
        .between(1, 1u << 20);
    sub.option("--max-body", options.most_body_mib,
               "maximum size of a request body in MiB (default 8)")
        .between(1, 1024);
    sub.option("--max-request-memory", options.most_memory_mib,
               "maximum memory of a request in MiB, which is also limited to 16 bytes per byte of "
               "its body, plus 16 MiB (default 256)")
        .between(16, 1u << 20);
    sub.option("--surrogates", options.surrogates,
               "lone surrogates in strings: replace = by U+FFFD; refuse (default replace)")
        .one_of({"replace", "refuse"});
    sub.option("--request-timeout", options.service.request_seconds,
               "maximum seconds per request, 0 = no limit (default 0)")
        .between(0, 86400);
    sub.option(
           "--send-timeout", options.http.send_seconds,
           "seconds in which a client must read the part of an answer that waits for it, at most "
           "256 KiB of it (default 30)")
        .between(1, 86400);
    sub.option("--drain", options.drain_seconds,
               "seconds that running requests have after SIGTERM (default 30)")
        .between(0, 86400);
}

void add_engine(Command &sub, ServeOptions &options) {
    sub.option(
           "--parallel", options.host.n_parallel,
           "number of requests to decode in parallel, each with a context of its own (default 4)")
        .between(1, 4096);
    sub.option("--cache-slots", options.host.n_kept,
               "number of slots that keep the prefix cache of finished requests, each with memory "
               "for a context (default 0)")
        .between(0, 4096);
    sub.option("--batch", options.host.n_batch,
               "maximum number of tokens computed at once (default 512)");
    sub.option("--decode", options.decode,
               "matrix products of token generation: row-wise; tiled, faster from about ten "
               "parallel requests on; auto = by --parallel (default row-wise)")
        .one_of({"row-wise", "tiled", "auto"});
    sub.option(
           "--prompt-share", options.prompt_ms,
           "milliseconds that token generation waits for prefill of other requests (default 100)")
        .between(1, 60000);
    sub.option("--preempt-after", options.patience_seconds,
               "maximum seconds after which a key without a running request preempts the youngest "
               "request of another key; earlier if that loses little work (default 10)")
        .between(0, 86400);
    sub.flag("--share-prefixes", options.service.share_prefixes,
             "share the prefix cache between keys");
    sub.flag("--embeddings", options.host.embeddings,
             "also serve embeddings of a model that generates text");
    SamplingDefaults &sampling = options.service.sampling;
    auto &keys = options.sampling;
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    keys.emplace_back(GGUFX_SAMPLING_##KEY, add_number(sub, long_name, sampling.field, help,       \
                                                       GGUFX_SAMPLING_##KEY, least, most));
#include "sampling/samplers.def"
    sub.option("--json-whitespace", options.json_whitespace,
               "white space in structured output: limited = one space, or a line break and at most "
               "20 spaces; none; any = no limit (default limited)")
        .one_of(white_space_names());
    options.host.session.making.group.loading = Loading::automatic;
    add_session_options(sub, options.host.session);
    add_group_options(sub, options.host.session.making.group);
}

// Returns the absolute path, since the server keeps using it.
std::string folder_of(const std::string &given) {
    char path[PATH_MAX];
    struct stat info = {};
    if (!realpath(given.c_str(), path) || stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        throw Failure(kUsage, "--slot-dir: \"" + escape(given) + "\" is not a folder");
    return path;
}

// Checks the limit of file descriptors: all connections, and some for files.
void require_descriptors(unsigned n_connections) {
    constexpr rlim_t others = 64;
    const rlim_t needed = n_connections + others;
    struct rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < needed)
        throw Failure(kUsage,
                      fmt::format("--connections {}: this process may open {} files (ulimit "
                                  "-n), {} are needed",
                                  n_connections, limit.rlim_max, needed));
}

} // namespace

void add_serve_options(Command &sub, ServeOptions &options) {
    add_address(sub, options);
    add_engine(sub, options);
    add_access(sub, options);
    add_limits(sub, options);
}

void complete(ServeOptions &options) {
    for (const auto &[key, option] : options.sampling)
        if (option.was_given()) options.service.given_sampling |= key;
    GroupChoice &group = options.host.session.making.group;
    group.take_loading();
    if (group.is_set() && options.host.embeddings)
        throw Failure(kUsage, "--embeddings cannot be used with --group");
    if (options.decode == "auto")
        options.decode = options.host.n_parallel >= kManyTexts ? "tiled" : "row-wise";
    options.host.answers = options.decode == "tiled" ? Path::tiles : Path::rows;
    options.host.session.adapters.io = group.io();
    SchedulerOptions &scheduling = options.service.scheduling;
    scheduling.answers = options.host.answers;
    scheduling.n_parallel = options.host.n_parallel;
    scheduling.prompt_seconds = options.prompt_ms / 1e3;
    scheduling.patience_seconds = options.patience_seconds;
    options.service.sampling.grammar_flags = white_space_flags(options.json_whitespace).value_or(0);
    options.service.slot_quota.n_bytes = static_cast<uint64_t>(options.slot_quota_mib) << 20;
    options.service.most_request_memory = static_cast<size_t>(options.most_memory_mib) << 20;
    options.service.replaces_surrogates = options.surrogates == "replace";
    options.http.most_body = static_cast<size_t>(options.most_body_mib) << 20;
}

void prepare_sockets(ServeOptions &options) {
    std::string &slots = options.service.slot_folder;
    options.guard.secret = {random_number(), random_number()};
    if (!slots.empty()) {
        slots = folder_of(slots);
        sweep_slot_folder(slots);
        if (!options.guard.key_file.empty()) options.guard.secret = slot_secret(slots);
    }
    require_descriptors(options.http.n_connections);
}

} // namespace ggufx::cli
