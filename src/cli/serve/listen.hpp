// Listening socket: address and port, Unix path, or a socket passed by a service manager.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

namespace ggufx::cli {

struct Listening {
    int socket;
    std::string url; // URL to display
    bool is_loopback, is_path;
};

bool is_loopback_name(const std::string &host); // 127.0.0.1, ::1, localhost
Listening listen_on(const std::string &host, unsigned port);
Listening listen_on_path(const std::string &path); // replaces an existing socket at the path

// Returns the first socket passed by a service manager (LISTEN_FDS); throws Failure.
Listening listen_on_given();
// Sends a state such as "READY=1" to the service manager (NOTIFY_SOCKET), if there is one.
void notify_manager(const std::string &state);

} // namespace ggufx::cli
