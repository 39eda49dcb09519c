// SPDX-License-Identifier: MIT
#include "serve/serve_options.hpp"

#include <climits>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace ggufx::cli {

namespace {

constexpr uint32_t kManyTexts = 10; // from so many on tiles are the faster way of tokens

void add_address(Command &sub, ServeOptions &options) {
    sub.option("MODEL", options.host.model, "GGUF file; default the embedded one");
    Option host = sub.option("--host", options.address, "address or name; default 127.0.0.1");
    host.value("ADDRESS");
    sub.option("--port", options.port, "0 = any that is free; default 8080").between(0, 65535);
    sub.option("--listen", options.listen,
               "a socket in the file system instead: unix:PATH; systemd: the one it opened")
        .value("ADDRESS")
        .excludes(host);
    sub.option("--alias", options.host.alias, "name of the model; default the file's");
    sub.option("--template", options.host.template_name,
               "a built-in format (chatml, llama3, ...) or a FILE with a template; default the "
               "model's")
        .value("TEMPLATE");
}

void add_access(Command &sub, ServeOptions &options) {
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
    sub.option("--trusted-proxy", options.http.proxies,
               "an address whose X-Forwarded-For is believed, and whose connections no limit of an "
               "address counts")
        .value("ADDRESS")
        .repeatable();
    sub.option("--access-log", options.http.access_log,
               "a line of JSON for each request, without its text; opened again on SIGHUP")
        .value("FILE");
    sub.flag("--lenient", options.service.lenient, "pass over fields of requests nobody documents");
    sub.flag("--slots", options.service.shows_slots, "GET /slots shows what places hold");
    sub.option("--slot-dir", options.service.slot_folder,
               "a folder for snapshots of places (/slots/N/save, /slots/N/restore)")
        .value("DIR");
}

void add_limits(Command &sub, ServeOptions &options) {
    sub.option("--connections", options.http.n_connections, "at once; default 256")
        .between(2, 65536);
    sub.option("--per-address", options.http.n_per_address,
               "connections of one address other than this machine's, 0 = as many; default 32");
    sub.option("--per-key", options.n_per_key,
               "texts of one key, waiting and in work, 0 = any number; default 0");
    sub.option("--queue", options.n_queue, "texts that wait at most; default 256")
        .between(1, 1u << 20);
    sub.option("--max-body", options.most_body_mib, "MiB of a request; default 8").between(1, 1024);
    sub.option("--request-timeout", options.request_seconds,
               "seconds that an answer has in all, 0 = any time; default 0")
        .between(0, 86400);
    sub.option("--drain", options.drain_seconds,
               "seconds that answers in work have after SIGTERM; default 30")
        .between(0, 86400);
}

void add_engine(Command &sub, ServeOptions &options) {
    sub.option("--parallel", options.host.n_parallel,
               "texts written at once, each with a context of its own; default 4")
        .between(1, 4096);
    sub.option("--kept", options.n_kept,
               "beginnings of ended texts kept beside them, each with memory for a context; "
               "default 0")
        .between(0, 4096);
    sub.option("--batch", options.host.n_batch, "tokens computed at once; default 512");
    sub.option("--decode", options.decode,
               "how tokens of answers are computed: rows; tiles, which are faster from about ten "
               "texts at once on; auto: by --parallel; default rows")
        .one_of({"rows", "tiles", "auto"});
    sub.option("--prompt-share", options.prompt_ms,
               "milliseconds that a text waits for prompts of others; default 100")
        .between(1, 60000);
    sub.option("--patience", options.patience_seconds,
               "seconds that a key without a text in work waits before another one's youngest text "
               "gives its place back; default 10")
        .between(0, 86400);
    sub.flag("--share-prefixes", options.service.share_prefixes,
             "beginnings of prompts are shared between keys");
    sub.flag("--embeddings", options.host.embeddings, "vectors of a model that writes texts, too");
    SamplingDefaults &sampling = options.service.sampling;
    auto &keys = options.sampling;
    keys.emplace_back(GGUFX_SAMPLING_TEMPERATURE,
                      sub.option("--temp", sampling.temperature,
                                 "temperature of requests without one; default that of the model, "
                                 "else 1")
                          .within(0.0, 1e6));
    keys.emplace_back(GGUFX_SAMPLING_TOP_K,
                      sub.option("--top-k", sampling.top_k,
                                 "of requests without one, 0 = all; default that of the model, "
                                 "else 0"));
    keys.emplace_back(GGUFX_SAMPLING_TOP_P,
                      sub.option("--top-p", sampling.top_p,
                                 "of requests without one; default that of the model, else 1")
                          .within(0.0, 1.0));
    keys.emplace_back(GGUFX_SAMPLING_MIN_P,
                      sub.option("--min-p", sampling.min_p,
                                 "of requests without one; default that of the model, else 0")
                          .within(0.0, 1.0));
    sub.option(
           "--json-whitespace", options.json_whitespace,
           "of JSON that a request asks for by a schema: limited, a space, or a line break and up "
           "to 20 spaces at a gap; none; any, without an end; default limited")
        .one_of(white_space_names());
    add_session_options(sub, options.host.session);
    add_group_options(sub, options.host.session.making.group);
}

// As an absolute path: the server keeps to it.
std::string folder_of(const std::string &given) {
    char path[PATH_MAX];
    struct stat info = {};
    if (!realpath(given.c_str(), path) || stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        throw Failure(kUsage, "--slot-dir: \"" + escape(given) + "\" is no folder");
    return path;
}

// Descriptors for all connections, and some for files.
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
    const GroupChoice &group = options.host.session.making.group;
    if (group.is_set() && options.host.embeddings)
        throw Failure(kUsage, "--embeddings: ranks of --group make no vectors");
    if (options.decode == "auto")
        options.decode = options.host.n_parallel >= kManyTexts ? "tiles" : "rows";
    options.host.answers = options.decode == "tiles" ? Path::tiles : Path::rows;
    options.host.n_kept = options.n_kept;
    SchedulerOptions &scheduling = options.service.scheduling;
    scheduling.answers = options.host.answers;
    scheduling.n_parallel = options.host.n_parallel;
    scheduling.prompt_seconds = options.prompt_ms / 1e3;
    scheduling.patience_seconds = options.patience_seconds;
    options.service.sampling.grammar_flags = white_space_flags(options.json_whitespace).value_or(0);
    options.service.n_queue = options.n_queue;
    options.service.n_per_key = options.n_per_key;
    options.service.request_seconds = options.request_seconds;
    options.http.most_body = static_cast<size_t>(options.most_body_mib) << 20;
}

void prepare_sockets(ServeOptions &options) {
    if (!options.service.slot_folder.empty())
        options.service.slot_folder = folder_of(options.service.slot_folder);
    require_descriptors(options.http.n_connections);
}

} // namespace ggufx::cli
