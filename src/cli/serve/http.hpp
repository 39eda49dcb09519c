// HTTP connections: libmicrohttpd on a listening socket, limits, and sending of exchanges.
// No callback throws: without memory it closes the connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/access_log.hpp"
#include "serve/guard.hpp"
#include "serve/service.hpp"

#include <map>

struct MHD_Connection;
struct MHD_Daemon;

namespace ggufx::cli {

struct HttpOptions {
    size_t most_body = 8u << 20; // bytes
    unsigned n_connections = 256;
    // Connections per address, and requests per address that a proxy forwards for, except from this
    // machine; 0 = no limit.
    unsigned n_per_address = 32;
    std::vector<std::string> proxies; // addresses whose X-Forwarded-For is trusted
    double receive_seconds = 30;      // time limit for a head, and for a body
    unsigned send_seconds = 30;       // see Exchange::is_slow
    std::string access_log;           // path of the log file; empty: no log, "-": stdout
};

class HttpServer {
public:
    // Takes ownership of the socket.
    HttpServer(int socket, Service &service, const Guard &guard, const HttpOptions &options);
    ~HttpServer();

    // Closes connections whose client sends or reads too slowly. Returns the seconds until the next
    // deadline, -1 = none.
    double close_slow();
    void reopen_log() { log_.reopen(); } // after rotation
    size_t n_open();                     // requests without a complete response

    struct Connection;
    struct Hooks; // callbacks of libmicrohttpd

private:
    void add(MHD_Connection *connection, void **context);
    bool may_connect(const std::string &address);
    void make_room();
    void cut(Connection &connection, double now);
    void admit(const std::string &address); // counts a forwarded request, or throws ApiError
    void release(const std::string &address);

    Service &service_;
    const Guard &guard_;
    HttpOptions options_;
    AccessLog log_;
    std::mutex mutex_;
    std::vector<Connection *> connections_;
    // Connections per address; requests per forwarded address.
    std::map<std::string, unsigned> n_of_, n_forwarded_;
    std::atomic<size_t> n_open_ = 0;
    MHD_Daemon *daemon_ = nullptr;
};

} // namespace ggufx::cli
