// Access checks: API keys, Host names, and origins (CORS). Pure functions of the request.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"
#include "serve/key_hash.hpp"

#include <memory>
#include <mutex>

namespace ggufx::cli {

struct GuardOptions {
    std::string key_file;             // empty: no key is required
    std::vector<std::string> hosts;   // names of this machine, besides localhost and IP addresses
    std::vector<std::string> origins; // origins whose pages may send requests
    bool is_local_socket = false;     // Unix socket: file permissions control the access
    HashSecret secret = {};           // for names of keys
};

// Headers of a request; empty if absent.
struct Asker {
    std::string host, origin, authorization;
};

class Guard {
public:
    explicit Guard(const GuardOptions &options); // reads the keys
    void read_keys(); // reads the keys again; throws Failure and keeps the old ones
    // Returns the owner of the request, 0 without keys. Throws ApiError.
    uint64_t check(const Asker &asker, bool needs_key) const;
    // Returns the value of Access-Control-Allow-Origin; empty: origin not allowed.
    std::string allowed_origin(const Asker &asker) const;

private:
    bool knows_host(std::string_view host) const;
    uint64_t owner_of(std::string_view key) const;

    GuardOptions options_;
    mutable std::mutex mutex_;
    std::vector<std::string> keys_;
};

// Strips the port: "example.org:8080", "[::1]:80".
std::string_view without_port(std::string_view host);
// Returns true for an IP address or localhost, which DNS rebinding cannot use.
bool is_own_name(std::string_view host);

} // namespace ggufx::cli
