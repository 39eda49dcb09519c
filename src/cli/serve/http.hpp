// Connections: libmicrohttpd on a socket that listens, its limits, what is sent of exchanges.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/guard.hpp"
#include "serve/service.hpp"

struct MHD_Daemon;

namespace ggufx::cli {

struct HttpOptions {
    size_t most_body = 8u << 20; // bytes
    unsigned n_connections = 256;
    unsigned n_per_address = 0; // 0 = as many
    double send_seconds = 30;   // a request is whole by then
    std::string access_log;     // a file; empty: none
};

class HttpServer {
public:
    // Takes the socket.
    HttpServer(int socket, Service &service, const Guard &guard, const HttpOptions &options);
    ~HttpServer();

    void close_slow(); // connections whose request takes too long; to be called now and then
    size_t n_open();   // requests that are not answered to the end

    struct Connection;
    struct Hooks; // what libmicrohttpd calls

private:
    Service &service_;
    const Guard &guard_;
    HttpOptions options_;
    FILE *log_ = nullptr;
    std::mutex mutex_;
    std::vector<Connection *> connections_;
    std::atomic<size_t> n_open_ = 0;
    MHD_Daemon *daemon_ = nullptr;
};

} // namespace ggufx::cli
