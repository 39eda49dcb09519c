// Command line options of `ggufx serve`.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/http.hpp"

namespace ggufx::cli {

struct ServeOptions {
    HostOptions host;
    ServiceOptions service;
    GuardOptions guard;
    HttpOptions http;
    std::string address = "127.0.0.1", listen, decode = "row-wise", json_whitespace = "limited",
                surrogates = "replace";
    unsigned port = 8080, drain_seconds = 30, most_body_mib = 8, prompt_ms = 100;
    unsigned most_memory_mib = 256; // per request
    unsigned slot_quota_mib = 16384;
    unsigned patience_seconds = 10;
    bool no_auth = false;
    // Options for which a model file may have defaults.
    std::vector<std::pair<uint32_t, Option>> sampling;
};

void add_serve_options(Command &sub, ServeOptions &options);
// Derives dependent options; throws Failure for contradictions.
void complete(ServeOptions &options);
// Prepares process limits for the connections; throws Failure.
void prepare_sockets(ServeOptions &options);

} // namespace ggufx::cli
