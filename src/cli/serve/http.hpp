// HTTP connections: libmicrohttpd on a listening socket, limits, and sending of exchanges.
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
    // Connections per address, except from this machine and from proxies; 0 = no limit.
    unsigned n_per_address = 32;
    std::vector<std::string> proxies; // addresses whose X-Forwarded-For is trusted
    double send_seconds = 30;         // time limit for receiving a request
    std::string access_log;           // path of the log file; empty: no log
};

class HttpServer {
public:
    // Takes ownership of the socket.
    HttpServer(int socket, Service &service, const Guard &guard, const HttpOptions &options);
    ~HttpServer();

    // Closes connections whose request takes too long. Returns the seconds until the next deadline,
    // -1 = none.
    double close_slow();
    void reopen_log(); // reopens the log file after rotation
    size_t n_open();   // requests without a complete response

    struct Connection;
    struct Hooks; // callbacks of libmicrohttpd

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
    std::map<std::string, unsigned> n_of_; // connections per address
    std::atomic<size_t> n_open_ = 0;
    MHD_Daemon *daemon_ = nullptr;
};

} // namespace ggufx::cli
