// One libmicrohttpd thread serves all connections. Connections that wait for a response are
// suspended, and the library does not poll them: Exchange::is_gone polls their sockets.
// SPDX-License-Identifier: MIT
#include "serve/http.hpp"

#include "common/signals.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ggufx::cli {

// State of a socket; its requests come one after the other.
struct HttpServer::Connection {
    int socket;
    std::string address;
    double deadline; // deadline for receiving the current request; 0: none
    bool is_idle;    // between two requests
};

namespace {

constexpr size_t kMostLogged = 256; // logged bytes of a path
// Libmicrohttpd buffer for the headers of request and response.
constexpr size_t kHeaderBytes = 32u << 10;

// Request from its first line to the end of its response.
struct Request {
    std::shared_ptr<Exchange> exchange;
    const Service::Route *route = nullptr;
    std::string method, path, body, origin, id, address;
    double began = 0;
    bool is_too_large = false, is_taken = false, is_answered = false;
};

std::string header(MHD_Connection *connection, const char *name) {
    const char *const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

void quiet(void *, const char *, va_list) {} // suppresses a log line for each disconnect

} // namespace

struct HttpServer::Hooks {
    static void connection(void *cls, MHD_Connection *connection, void **context,
                           MHD_ConnectionNotificationCode code);
    static MHD_Result accept(void *cls, const struct sockaddr *at, socklen_t n);
    static void describe(HttpServer &server, MHD_Connection *connection, Request &request);
    static MHD_Result request(void *cls, MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *n_data, void **context);
    static void completed(void *cls, MHD_Connection *connection, void **context,
                          MHD_RequestTerminationCode code);
    static ssize_t read(void *cls, uint64_t at, char *out, size_t most);
    static void free_reader(void *cls);

    static MHD_Result begin(HttpServer &server, MHD_Connection *connection, Request &request);
    static MHD_Result send(HttpServer &server, MHD_Connection *connection, Request &request);
    static MHD_Result send_head(HttpServer &server, MHD_Connection *connection, Request &request,
                                MHD_Response *response, const Exchange::Head &head);
    static MHD_Result preflight(MHD_Connection *connection, const std::string &origin);
    static void log(HttpServer &server, const Request &request);
};

namespace {

// Reader state of a streamed response.
struct QueryReader {
    std::shared_ptr<Exchange> exchange;
    MHD_Connection *connection;
};

// Returns the address in text form; "unix" for Unix sockets.
std::string text_of(const struct sockaddr *at) {
    char text[INET6_ADDRSTRLEN] = "";
    if (at && at->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const struct sockaddr_in *>(at)->sin_addr, text,
                  sizeof text);
    else if (at && at->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const struct sockaddr_in6 *>(at)->sin6_addr, text,
                  sizeof text);
    const std::string_view mapped = "::ffff:", all = text;
    if (all.empty()) return "unix";
    return std::string(all.starts_with(mapped) ? all.substr(mapped.size()) : all);
}

std::string address_of(MHD_Connection *connection) {
    const auto *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return text_of(info ? info->client_addr : nullptr);
}

bool is_this_machine(const std::string &address) {
    return address == "unix" || address == "::1" || address.starts_with("127.");
}

// Returns true if a request id is safe to log.
bool is_request_id(const std::string &id) {
    constexpr size_t most = 128;
    return !id.empty() && id.size() <= most &&
           std::all_of(id.begin(), id.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// TCP keep-alive: detects a dead peer after 90 seconds, also while nothing is sent.
void watch_peer(int socket) {
    const int on = 1, idle = 60, every = 10, times = 3;
    const unsigned unanswered = 90000; // milliseconds
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
}

int socket_of(MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

HttpServer::Connection *context_of(MHD_Connection *connection) {
    return static_cast<HttpServer::Connection *>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
}

} // namespace

// ---- connections ----

void HttpServer::Hooks::connection(void *cls, MHD_Connection *connection, void **context,
                                   MHD_ConnectionNotificationCode code) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    const std::lock_guard lock(server.mutex_);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        try {
            server.add(connection, context);
        } catch (const std::bad_alloc &) {} // served without a deadline
        return;
    }
    auto *const gone = static_cast<HttpServer::Connection *>(*context);
    if (!gone) return;
    if (--server.n_of_[gone->address] == 0) server.n_of_.erase(gone->address);
    std::erase(server.connections_, gone);
    delete gone;
}

// Call with the lock held.
void HttpServer::add(MHD_Connection *connection, void **context) {
    const std::string address = address_of(connection);
    const double deadline = monotonic_seconds() + options_.send_seconds;
    auto added =
        std::make_unique<Connection>(Connection{socket_of(connection), address, deadline, true});
    connections_.reserve(connections_.size() + 1);
    n_of_[address]++;
    if (address != "unix") watch_peer(added->socket);
    *context = added.get();
    connections_.push_back(added.release());
    make_room();
    // The loop that closes slow connections slept without a timeout.
    if (connections_.size() == 1) wake();
}

MHD_Result HttpServer::Hooks::accept(void *cls, const struct sockaddr *at, socklen_t) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    return server.may_connect(text_of(at)) ? MHD_YES : MHD_NO;
}

bool HttpServer::may_connect(const std::string &address) {
    const auto &proxies = options_.proxies;
    if (options_.n_per_address == 0 || is_this_machine(address) ||
        std::find(proxies.begin(), proxies.end(), address) != proxies.end())
        return true;
    const std::lock_guard lock(mutex_);
    const auto at = n_of_.find(address);
    return at == n_of_.end() || at->second < options_.n_per_address;
}

// With the last slot taken, closes the longest idle connection. A client that holds many idle
// connections thus cannot block new ones. Call with the lock held.
void HttpServer::make_room() {
    if (connections_.size() < options_.n_connections) return;
    Connection *oldest = nullptr;
    for (Connection *one : connections_)
        if (one->is_idle && one->deadline > 0 && one != connections_.back() &&
            (!oldest || one->deadline < oldest->deadline))
            oldest = one;
    if (!oldest) return;
    oldest->deadline = 0;
    shutdown(oldest->socket, SHUT_RDWR);
}

double HttpServer::close_slow() {
    const std::lock_guard lock(mutex_);
    const double now = monotonic_seconds();
    for (Connection *connection : connections_) {
        if (connection->deadline == 0 || now < connection->deadline) continue;
        connection->deadline = 0;
        shutdown(connection->socket, SHUT_RDWR);
    }
    return connections_.empty() ? -1 : 1;
}

size_t HttpServer::n_open() {
    return n_open_;
}

static void set_deadline(std::mutex &mutex, MHD_Connection *connection, double deadline) {
    const std::lock_guard lock(mutex);
    if (HttpServer::Connection *const of = context_of(connection)) of->deadline = deadline;
}

static void set_idle(std::mutex &mutex, MHD_Connection *connection, bool is_idle) {
    const std::lock_guard lock(mutex);
    if (HttpServer::Connection *const of = context_of(connection)) of->is_idle = is_idle;
}

// ---- requests ----

MHD_Result HttpServer::Hooks::preflight(MHD_Connection *connection, const std::string &origin) {
    MHD_Response *const response =
        MHD_create_response_from_buffer(0, const_cast<char *>(""), MHD_RESPMEM_PERSISTENT);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", origin.c_str());
    MHD_add_response_header(response, "Access-Control-Allow-Methods", "GET, POST");
    MHD_add_response_header(response, "Access-Control-Allow-Headers",
                            "Authorization, Content-Type, X-Request-Id, X-Session-Id");
    MHD_add_response_header(response, "Vary", "Origin");
    const MHD_Result result = MHD_queue_response(connection, 204, response);
    MHD_destroy_response(response);
    return result;
}

// Sets the client address and the request id. X-Forwarded-For counts only from trusted proxies,
// X-Request-Id from any client.
void HttpServer::Hooks::describe(HttpServer &server, MHD_Connection *connection, Request &request) {
    request.address = address_of(connection);
    const auto &proxies = server.options_.proxies;
    const bool by_proxy =
        std::find(proxies.begin(), proxies.end(), request.address) != proxies.end();
    const std::string forwarded = header(connection, "X-Forwarded-For");
    if (by_proxy && is_request_id(forwarded.substr(forwarded.find_last_of(", ") + 1)))
        request.address = forwarded.substr(forwarded.find_last_of(", ") + 1);
    request.id = header(connection, "X-Request-Id");
    if (!is_request_id(request.id)) request.id = "req_" + random_name(24);
}

// Refuses requests that the headers alone rule out, before the body is read.
MHD_Result HttpServer::Hooks::begin(HttpServer &server, MHD_Connection *connection,
                                    Request &request) {
    const Asker asker = {header(connection, "Host"), header(connection, "Origin"),
                         header(connection, "Authorization")};
    int socket = socket_of(connection);
    try {
        request.origin = server.guard_.allowed_origin(asker);
        if (request.method == "OPTIONS" && !request.origin.empty())
            return preflight(connection, request.origin);
        request.route = &Service::find(request.method, request.path);
        const uint64_t owner = server.guard_.check(asker, Service::needs_key(*request.route));
        const uint64_t turn = owner != 0 ? owner : std::hash<std::string>()(request.address);
        request.exchange = std::make_shared<Exchange>(socket, owner, turn);
        const std::string length = header(connection, "Content-Length");
        if (Service::takes_body(*request.route)) {
            const std::string type = header(connection, "Content-Type");
            if (!type.empty() && !type.starts_with("application/json"))
                throw ApiError(415, "the body must be application/json", "", "unsupported_type");
            if (!length.empty() &&
                std::strtoull(length.c_str(), nullptr, 10) > server.options_.most_body)
                throw ApiError(413, "the body is too large", "", "too_large");
        }
        return MHD_YES;
    } catch (const ApiError &error) {
        if (!request.exchange) request.exchange = std::make_shared<Exchange>(socket, 0, 0);
        request.exchange->respond(error);
        request.is_taken = true;
        return send(server, connection, request);
    }
}

MHD_Result HttpServer::Hooks::request(void *cls, MHD_Connection *connection, const char *url,
                                      const char *method, const char *, const char *data,
                                      size_t *n_data, void **context) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    try {
        if (!*context) {
            auto *const made = new Request();
            *context = made;
            server.n_open_++;
            made->method = method;
            made->path = url;
            made->began = monotonic_seconds();
            set_idle(server.mutex_, connection, false);
            describe(server, connection, *made);
            return begin(server, connection, *made);
        }
        Request &request = *static_cast<Request *>(*context);
        if (!request.exchange) return MHD_YES;
        if (*n_data != 0) {
            const size_t room = server.options_.most_body - request.body.size();
            if (*n_data > room) request.is_too_large = true;
            if (!request.is_too_large && Service::takes_body(*request.route))
                request.body.append(data, *n_data);
            *n_data = 0;
            return MHD_YES;
        }
        if (!request.is_taken) {
            request.is_taken = true;
            set_deadline(server.mutex_, connection, 0);
            request.exchange->set_wake([connection] { MHD_resume_connection(connection); });
            if (request.is_too_large)
                request.exchange->respond(ApiError(413, "the body is too large", "", "too_large"));
            else
                server.service_.take(request.exchange, *request.route, request.path,
                                     std::move(request.body));
        }
        return send(server, connection, request);
    } catch (const std::bad_alloc &) { return MHD_NO; }
}

// ---- answers ----

MHD_Result HttpServer::Hooks::send_head(HttpServer &server, MHD_Connection *connection,
                                        Request &request, MHD_Response *response,
                                        const Exchange::Head &head) {
    if (!response) return MHD_NO;
    const bool is_stream = head.state == Exchange::State::stream;
    MHD_add_response_header(response, "Content-Type",
                            is_stream ? "text/event-stream" : head.type.c_str());
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "X-Request-Id", request.id.c_str());
    if (is_stream) MHD_add_response_header(response, "X-Accel-Buffering", "no");
    for (const auto &[name, value] : head.headers)
        MHD_add_response_header(response, name.c_str(), value.c_str());
    if (!request.origin.empty()) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", request.origin.c_str());
        MHD_add_response_header(response, "Vary", "Origin");
    }
    const MHD_Result result =
        MHD_queue_response(connection, static_cast<unsigned>(head.status), response);
    MHD_destroy_response(response);
    request.is_answered = result == MHD_YES;
    server.service_.metrics().request(head.status);
    return result;
}

MHD_Result HttpServer::Hooks::send(HttpServer &server, MHD_Connection *connection,
                                   Request &request) {
    if (request.is_answered) return MHD_YES;
    const Exchange::Head head =
        request.exchange->take_head([&] { MHD_suspend_connection(connection); });
    MHD_Response *response = nullptr;
    if (head.state == Exchange::State::waiting)
        return request.exchange->is_gone() ? MHD_NO : MHD_YES;
    if (head.state == Exchange::State::whole) {
        response = MHD_create_response_from_buffer(
            head.body.size(), const_cast<char *>(head.body.data()), MHD_RESPMEM_MUST_COPY);
    } else {
        auto *const reader = new QueryReader{request.exchange, connection};
        response =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 8192, read, reader, free_reader);
        if (!response) delete reader;
    }
    return send_head(server, connection, request, response, head);
}

ssize_t HttpServer::Hooks::read(void *cls, uint64_t, char *out, size_t most) {
    QueryReader &reader = *static_cast<QueryReader *>(cls);
    const ptrdiff_t n =
        reader.exchange->read(out, most, [&] { MHD_suspend_connection(reader.connection); });
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

void HttpServer::Hooks::free_reader(void *cls) {
    delete static_cast<QueryReader *>(cls);
}

void HttpServer::Hooks::completed(void *cls, MHD_Connection *connection, void **context,
                                  MHD_RequestTerminationCode) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    auto *const request = static_cast<Request *>(*context);
    if (!request) return;
    if (request->exchange) {
        request->exchange->close();
        if (!request->is_answered) server.service_.metrics().request(499);
        log(server, *request);
    }
    set_idle(server.mutex_, connection, true);
    set_deadline(server.mutex_, connection, monotonic_seconds() + server.options_.send_seconds);
    delete request;
    *context = nullptr;
    server.n_open_--;
}

// Logs counts and times, never user text.
void HttpServer::Hooks::log(HttpServer &server, const Request &request) {
    const std::lock_guard lock(server.log_mutex_);
    if (!server.log_) return;
    struct timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const ExchangeFacts facts = request.exchange->facts();
    Json line =
        Json{{"time", static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)},
             {"request", request.id},
             {"address", request.address},
             {"method", request.method},
             {"path", request.path.substr(0, kMostLogged)},
             {"status", request.is_answered ? request.exchange->status() : 499},
             {"seconds", monotonic_seconds() - request.began},
             {"id", facts.id.empty() ? Json() : Json(facts.id)},
             {"prompt_tokens", facts.n_prompt},
             {"cached_tokens", facts.n_cached},
             {"completion_tokens", facts.n_answer}};
    std::fprintf(server.log_, "%s\n", line.dump().c_str());
    std::fflush(server.log_);
}

// ---- the daemon ----

void HttpServer::open_log() {
    if (options_.access_log.empty()) return;
    FILE *const opened =
        options_.access_log == "-" ? stdout : std::fopen(options_.access_log.c_str(), "ae");
    if (!opened) throw Failure(kRuntimeError, std::string("--access-log: ") + std::strerror(errno));
    const std::lock_guard lock(log_mutex_);
    if (log_ && log_ != stdout) std::fclose(log_);
    log_ = opened;
}

void HttpServer::reopen_log() {
    open_log();
}

HttpServer::HttpServer(int socket, Service &service, const Guard &guard, const HttpOptions &options)
    : service_(service), guard_(guard), options_(options) {
    try {
        open_log();
    } catch (...) {
        close(socket);
        throw;
    }
    daemon_ = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ERROR_LOG,
        0, Hooks::accept, this, Hooks::request, this, MHD_OPTION_EXTERNAL_LOGGER, quiet, nullptr,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED, Hooks::completed, this,
        MHD_OPTION_NOTIFY_CONNECTION, Hooks::connection, this, MHD_OPTION_CONNECTION_LIMIT,
        options.n_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeaderBytes,
        MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(options.send_seconds), MHD_OPTION_END);
    if (daemon_) return;
    close(socket);
    if (log_ && log_ != stdout) std::fclose(log_);
    throw Failure(kRuntimeError, "the HTTP library cannot start");
}

HttpServer::~HttpServer() {
    MHD_stop_daemon(daemon_);
    if (log_ && log_ != stdout) std::fclose(log_);
}

} // namespace ggufx::cli
