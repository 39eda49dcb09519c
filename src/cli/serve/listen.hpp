// A socket that listens: an address and port, a path, or what a service manager opened.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

namespace ggufx::cli {

struct Listening {
    int socket;
    std::string url; // as people type it
    bool is_loopback, is_path;
};

bool is_loopback_name(const std::string &host); // 127.0.0.1, ::1, localhost
Listening listen_on(const std::string &host, unsigned port);
Listening listen_on_path(const std::string &path); // removes what is there, if it is a socket

// The first socket that a service manager opened for this process (LISTEN_FDS); throws Failure.
Listening listen_on_given();
// Tells a service manager (NOTIFY_SOCKET), where there is one: "READY=1".
void notify_manager(const std::string &state);

} // namespace ggufx::cli
