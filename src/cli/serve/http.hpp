// Connections: libmicrohttpd on a socket that listens, its limits, what is sent of exchanges.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/guard.hpp"
#include "serve/service.hpp"

#include <map>

struct MHD_Connection;
struct MHD_Daemon;

namespace ggufx::cli {

struct HttpOptions {
    size_t most_body = 8u << 20; // bytes
    unsigned n_connections = 256;
    // Of one address, but for this machine's and those of proxies; 0 = as many.
    unsigned n_per_address = 32;
    std::vector<std::string> proxies; // addresses whose X-Forwarded-For and X-Request-Id count
    double send_seconds = 30;         // a request is whole by then
    std::string access_log;           // a file; empty: none
};

class HttpServer {
public:
    // Takes the socket.
    HttpServer(int socket, Service &service, const Guard &guard, const HttpOptions &options);
    ~HttpServer();

    // Closes connections whose request takes too long; seconds until the next one may, -1 = never.
    double close_slow();
    void reopen_log(); // under its name, after it was moved away
    size_t n_open();   // requests that are not answered to the end

    struct Connection;
    struct Hooks; // what libmicrohttpd calls

private:
    void add(MHD_Connection *connection, void **context);
    void open_log();
    bool may_connect(const std::string &address);
    void make_room();

    Service &service_;
    const Guard &guard_;
    HttpOptions options_;
    std::mutex log_mutex_;
    FILE *log_ = nullptr;
    std::mutex mutex_;
    std::vector<Connection *> connections_;
    std::map<std::string, unsigned> n_of_; // connections of an address
    std::atomic<size_t> n_open_ = 0;
    MHD_Daemon *daemon_ = nullptr;
};

} // namespace ggufx::cli
