// Who may ask: keys, names of this machine, pages of other origins. Pure.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"

#include <memory>
#include <mutex>

namespace ggufx::cli {

struct GuardOptions {
    std::string key_file;             // empty: no key is asked for
    std::vector<std::string> hosts;   // names this machine goes by, beside localhost and numbers
    std::vector<std::string> origins; // whose pages may ask
    bool is_local_socket = false;     // who can open it is the file system's to say
};

// What a request says of itself; empty: it does not.
struct Asker {
    std::string host, origin, authorization;
};

class Guard {
public:
    explicit Guard(const GuardOptions &options); // reads the keys
    void read_keys();                            // again; throws Failure and keeps the old ones
    // The owner of what is asked, 0 where there are no keys. Throws ApiError.
    uint64_t check(const Asker &asker, bool needs_key) const;
    // The origin to be named in the answer to one of its pages; empty: none.
    std::string allowed_origin(const Asker &asker) const;

private:
    bool knows_host(std::string_view host) const;

    GuardOptions options_;
    mutable std::mutex mutex_;
    std::vector<std::string> keys_;
};

// "example.org:8080", "[::1]:80" without the port.
std::string_view without_port(std::string_view host);
// A number, or localhost: no name that somebody's server could answer for.
bool is_own_name(std::string_view host);

} // namespace ggufx::cli
