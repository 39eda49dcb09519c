// One libmicrohttpd thread serves all connections. Connections that wait for a response are
// suspended, and the library does not poll them: Exchange::is_gone polls their sockets.
// SPDX-License-Identifier: MIT
#include "serve/http.hpp"

#include "common/signals.hpp"
#include "serve/http_head.hpp"

#include <algorithm>
#include <arpa/inet.h>
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
    enum class Phase { idle, receiving, answering };
    int socket;
    std::string address;
    double since;    // begin of the phase
    double deadline; // end of the phase; 0: none
    Phase phase = Phase::idle;
    bool is_trusted = false;            // had a request that passed the check of keys
    bool is_closed = false;             // closed by this side; the library notices soon
    std::shared_ptr<Exchange> exchange; // answer to the current request
};

using Phase = HttpServer::Connection::Phase;

namespace {

constexpr size_t kMostLogged = 256; // logged bytes of a path, and of a method
// Libmicrohttpd buffer for the headers of request and response.
constexpr size_t kHeaderBytes = 32u << 10;
constexpr size_t kSmallBody = 64u << 10;  // bytes for which no memory is reserved
constexpr size_t kBlockBytes = 16u << 10; // bytes of a body that are passed to the library at once
constexpr double kCutSeconds = 5;         // time to read the error event of a stream that was cut
// Headers that pages of other origins may read and send.
constexpr const char *kExposed =
    "X-Request-Id, Retry-After, X-Ggufx-Prefix, X-Ggufx-Ignored, WWW-Authenticate, Allow";
constexpr const char *kAccepted = "Authorization, Content-Type, X-Request-Id, X-Session-Id";
constexpr size_t kMostAccepted = 4096; // bytes of a list of headers that a preflight asks for

// Request from its first line to the end of its response.
struct Request {
    std::shared_ptr<Exchange> exchange;
    const Service::Route *route = nullptr;
    std::string method, path, body, origin, id, address;
    double began = 0;
    uint64_t n_expected = 0; // bytes of the body by its head
    bool is_too_large = false, is_taken = false, is_answered = false;
    bool is_forwarded = false; // counted for its address
    bool closes = false;       // the connection ends after the response
};

void quiet(void *, const char *, va_list) {} // suppresses a log line for each disconnect

} // namespace

struct HttpServer::Hooks {
    static void connection(void *cls, MHD_Connection *connection, void **context,
                           MHD_ConnectionNotificationCode code);
    static MHD_Result accept(void *cls, const struct sockaddr *at, socklen_t n);
    static size_t unescape(void *cls, MHD_Connection *connection, char *text);
    static void describe(HttpServer &server, MHD_Connection *connection, const HttpHead &head,
                         Request &request);
    static MHD_Result request(void *cls, MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *n_data, void **context);
    static void completed(void *cls, MHD_Connection *connection, void **context,
                          MHD_RequestTerminationCode code);
    static ssize_t read(void *cls, uint64_t at, char *out, size_t most);
    static void free_reader(void *cls);

    static MHD_Result begin(HttpServer &server, MHD_Connection *connection, const HttpHead &head,
                            Request &request);
    static void check(HttpServer &server, int socket, const HttpHead &head, Request &request);
    static MHD_Result receive(HttpServer &server, MHD_Connection *connection, Request &request,
                              std::string_view data);
    static MHD_Result send(MHD_Connection *connection, Request &request);
    static MHD_Result send_head(MHD_Connection *connection, Request &request,
                                MHD_Response *response, const Exchange::Head &head);
    static void set_phase(HttpServer &server, MHD_Connection *connection, Phase phase);
    static void finish(HttpServer &server, const Request &request, bool is_sent);
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
        } catch (const std::bad_alloc &) { shutdown(socket_of(connection), SHUT_RDWR); }
        return;
    }
    auto *const gone = static_cast<HttpServer::Connection *>(*context);
    if (!gone) return;
    const auto count = server.n_of_.find(gone->address);
    if (--count->second == 0) server.n_of_.erase(count);
    std::erase(server.connections_, gone);
    delete gone;
}

// Call with the lock held.
void HttpServer::add(MHD_Connection *connection, void **context) {
    const double now = monotonic_seconds();
    auto added = std::make_unique<Connection>();
    added->socket = socket_of(connection);
    added->address = address_of(connection);
    added->since = now;
    added->deadline = now + options_.receive_seconds;
    connections_.reserve(connections_.size() + 1);
    n_of_[added->address]++;
    if (added->address != "unix") watch_peer(added->socket);
    *context = added.get();
    connections_.push_back(added.release());
    make_room();
    // The loop that closes slow connections slept without a timeout.
    if (connections_.size() == 1) wake();
}

MHD_Result HttpServer::Hooks::accept(void *cls, const struct sockaddr *at, socklen_t) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    try {
        return server.may_connect(text_of(at)) ? MHD_YES : MHD_NO;
    } catch (const std::bad_alloc &) { return MHD_NO; }
}

// A path with a zero keeps its escapes: it would end there, and a proxy could see another path.
size_t HttpServer::Hooks::unescape(void *, MHD_Connection *, char *text) {
    return std::strstr(text, "%00") ? std::strlen(text) : MHD_http_unescape(text);
}

// The connections of a proxy are those of many clients: admit() counts the requests of each.
bool HttpServer::may_connect(const std::string &address) {
    const auto &proxies = options_.proxies;
    if (options_.n_per_address == 0 || is_this_machine(address) ||
        std::find(proxies.begin(), proxies.end(), address) != proxies.end())
        return true;
    const std::lock_guard lock(mutex_);
    const auto at = n_of_.find(address);
    return at == n_of_.end() || at->second < options_.n_per_address;
}

void HttpServer::admit(const std::string &address) {
    const std::lock_guard lock(mutex_);
    unsigned &n = n_forwarded_[address];
    if (n >= options_.n_per_address && options_.n_per_address > 0 && !is_this_machine(address))
        throw ApiError(429,
                       fmt::format("the address has {} running requests, which is the limit (see "
                                   "--per-address of the server)",
                                   n),
                       "", "address_limit");
    n++;
}

void HttpServer::release(const std::string &address) {
    const std::lock_guard lock(mutex_);
    const auto at = n_forwarded_.find(address);
    if (--at->second == 0) n_forwarded_.erase(at);
}

// Returns the order in which connections are closed to make room, lowest first; -1: never. A client
// without a key must not keep out those with one.
static int eviction_rank(const HttpServer::Connection &connection) {
    if (connection.is_closed) return -1;
    if (!connection.is_trusted) return 0;
    return connection.phase == Phase::idle ? 1 : connection.phase == Phase::receiving ? 2 : -1;
}

static void close_now(HttpServer::Connection &connection) {
    connection.is_closed = true;
    shutdown(connection.socket, SHUT_RDWR);
}

// With the last slot taken, closes another connection: the oldest of those with the lowest rank. A
// client that holds many connections thus cannot block new ones. Call with the lock held.
void HttpServer::make_room() {
    if (connections_.size() < options_.n_connections) return;
    Connection *first = nullptr;
    int lowest = 0;
    for (Connection *one : connections_) {
        const int rank = one == connections_.back() ? -1 : eviction_rank(*one);
        if (rank < 0 || (first && std::pair(rank, one->since) >= std::pair(lowest, first->since)))
            continue;
        first = one;
        lowest = rank;
    }
    if (first) close_now(*first);
}

// Ends a response whose client is too slow. A stream has some seconds for its last event. Call with
// the lock held.
void HttpServer::cut(Connection &connection, double now) {
    connection.deadline = now;
    try {
        const ApiError error(408,
                             fmt::format("the client did not read the answer within {} s (see "
                                         "--send-timeout of the server)",
                                         options_.send_seconds),
                             "", "slow_client");
        if (connection.exchange->cut(error)) connection.deadline = now + kCutSeconds;
    } catch (const std::bad_alloc &) {}
    if (connection.deadline == now) close_now(connection);
}

double HttpServer::close_slow() {
    const std::lock_guard lock(mutex_);
    const double now = monotonic_seconds();
    for (Connection *connection : connections_) {
        if (connection->is_closed) continue;
        if (connection->deadline > 0 && now >= connection->deadline)
            close_now(*connection);
        else if (connection->exchange && connection->exchange->is_slow(now, options_.send_seconds))
            cut(*connection, now);
    }
    return connections_.empty() ? -1 : 1;
}

size_t HttpServer::n_open() {
    return n_open_;
}

void HttpServer::Hooks::set_phase(HttpServer &server, MHD_Connection *connection, Phase phase) {
    const std::lock_guard lock(server.mutex_);
    HttpServer::Connection *const of = context_of(connection);
    if (!of) return;
    of->phase = phase;
    of->since = monotonic_seconds();
    of->deadline = phase == Phase::answering ? 0 : of->since + server.options_.receive_seconds;
    if (phase == Phase::idle) of->exchange = nullptr;
}

// ---- requests ----

namespace {

// Returns the last address in the X-Forwarded-For fields that is not a trusted proxy: each proxy
// appends the address of its client. Empty if there is none.
std::string_view forwarded_for(const HttpHead &head, const std::vector<std::string> &proxies) {
    constexpr std::string_view between = ", \t";
    std::string_view last;
    head.each([&](std::string_view name, std::string_view value) {
        if (!is_same_field(name, "X-Forwarded-For")) return;
        for (size_t at = 0, end; at < value.size(); at = end + 1) {
            end = std::min(value.find_first_of(between, at), value.size());
            const std::string_view one = value.substr(at, end - at);
            if (!one.empty() && std::find(proxies.begin(), proxies.end(), one) == proxies.end())
                last = one;
        }
    });
    return last;
}

// Returns the headers of a preflight response besides those of each response to the origin.
std::vector<Exchange::Header> preflight_headers(const HttpHead &head, const std::string &path) {
    const std::string_view asked = head.value("Access-Control-Request-Headers");
    const bool is_list = asked.size() <= kMostAccepted && is_field_list(asked);
    const std::string methods = Service::methods_of(path);
    std::vector<Exchange::Header> out = {
        {"Access-Control-Allow-Methods", methods.empty() ? "GET, HEAD, POST, DELETE" : methods},
        {"Access-Control-Allow-Headers", is_list ? std::string(asked) : kAccepted},
        {"Access-Control-Max-Age", "7200"}, // the most that Chromium accepts
        {"Vary", "Access-Control-Request-Method, Access-Control-Request-Headers"}};
    // A page of a public address may use a server of this network only if the server agrees.
    if (head.value("Access-Control-Request-Private-Network") == "true")
        out.emplace_back("Access-Control-Allow-Private-Network", "true");
    return out;
}

} // namespace

// Sets the client address and the request id. X-Forwarded-For counts only from trusted proxies,
// X-Request-Id from any client.
void HttpServer::Hooks::describe(HttpServer &server, MHD_Connection *connection,
                                 const HttpHead &head, Request &request) {
    request.address = address_of(connection);
    const auto &proxies = server.options_.proxies;
    if (std::find(proxies.begin(), proxies.end(), request.address) != proxies.end()) {
        const std::string forwarded(forwarded_for(head, proxies));
        request.is_forwarded = is_request_id(forwarded);
        if (request.is_forwarded) request.address = forwarded;
    }
    request.id = head.value("X-Request-Id");
    if (!is_request_id(request.id)) request.id = "req_" + random_name(24);
}

// Answers preflights, and refuses requests that the head alone rules out.
void HttpServer::Hooks::check(HttpServer &server, int socket, const HttpHead &head,
                              Request &request) {
    const Asker asker = {std::string(head.value("Host")), std::string(head.value("Origin")),
                         std::string(head.value("Authorization"))};
    request.origin = server.guard_.allowed_origin(asker);
    head.require_clear();
    // Libmicrohttpd may end a trailer too early, so that the rest would count as a request.
    request.closes = head.is_chunked();
    const bool is_preflight = request.method == "OPTIONS" && !request.origin.empty();
    if (!is_preflight) request.route = &Service::find(request.method, request.path);
    const bool takes_body = request.route && request.route->takes_body();
    if (!takes_body && head.has_body())
        throw ApiError(400,
                       fmt::format("{} {} takes no body", request.method, escape(request.path)), "",
                       "unexpected_body");
    if (is_preflight) {
        request.exchange = std::make_shared<Exchange>(socket, 0, 0);
        request.exchange->respond(204, "", "", preflight_headers(head, request.path));
        return;
    }
    const uint64_t owner = server.guard_.check(asker, request.route->needs_key);
    if (takes_body) head.require_json(server.options_.most_body);
    request.n_expected = head.n_body_bytes();
    const uint64_t turn = owner != 0 ? owner : std::hash<std::string>()(request.address);
    request.exchange = std::make_shared<Exchange>(socket, owner, turn);
}

MHD_Result HttpServer::Hooks::begin(HttpServer &server, MHD_Connection *connection,
                                    const HttpHead &head, Request &request) {
    const int socket = socket_of(connection);
    bool is_refused = false;
    try {
        if (request.is_forwarded) {
            request.is_forwarded = false;
            server.admit(request.address);
            request.is_forwarded = true;
        }
        check(server, socket, head, request);
    } catch (const ApiError &error) {
        is_refused = true;
        request.exchange = std::make_shared<Exchange>(socket, 0, 0);
        if (error.status == 405)
            request.exchange->add_header("Allow", Service::methods_of(request.path));
        request.exchange->respond(error);
    }
    request.is_taken = is_refused || !request.route;
    const bool is_trusted = !is_refused && request.route && request.route->needs_key;
    set_phase(server, connection, request.is_taken ? Phase::answering : Phase::receiving);
    {
        const std::lock_guard lock(server.mutex_);
        if (HttpServer::Connection *const of = context_of(connection)) {
            of->exchange = request.exchange;
            of->is_trusted = of->is_trusted || is_trusted;
        }
    }
    // A response to the head alone closes the connection, and the body is not read.
    return is_refused ? send(connection, request) : MHD_YES;
}

// Takes a part of the body, or answers after its end, without data.
MHD_Result HttpServer::Hooks::receive(HttpServer &server, MHD_Connection *connection,
                                      Request &request, std::string_view data) {
    if (!data.empty()) {
        const size_t room = server.options_.most_body - request.body.size();
        if (data.size() > room) request.is_too_large = true;
        if (request.is_too_large || request.is_taken) return MHD_YES;
        // Growing by copies would take this thread many times as long, for all connections.
        if (request.body.size() >= kSmallBody)
            request.body.reserve(static_cast<size_t>(request.n_expected));
        request.body.append(data);
        return MHD_YES;
    }
    if (!request.is_taken) {
        request.is_taken = true;
        set_phase(server, connection, Phase::answering);
        request.exchange->set_wake([connection] { MHD_resume_connection(connection); });
        if (request.is_too_large)
            request.exchange->respond(ApiError(413, "the body is too large", "", "too_large"));
        else
            server.service_.take(request.exchange, *request.route, request.path,
                                 std::move(request.body));
    }
    return send(connection, request);
}

MHD_Result HttpServer::Hooks::request(void *cls, MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *data,
                                      size_t *n_data, void **context) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    try {
        if (*context) {
            const std::string_view part(data ? data : "", *n_data);
            const MHD_Result result =
                receive(server, connection, *static_cast<Request *>(*context), part);
            *n_data = 0;
            return result;
        }
        auto *const made = new Request();
        *context = made;
        server.n_open_++;
        made->method = method;
        made->path = url;
        made->began = monotonic_seconds();
        const HttpHead head(connection, method, version);
        describe(server, connection, head, *made);
        return begin(server, connection, head, *made);
    } catch (const std::exception &) { return MHD_NO; } // out of memory
}

// ---- answers ----

MHD_Result HttpServer::Hooks::send_head(MHD_Connection *connection, Request &request,
                                        MHD_Response *response, const Exchange::Head &head) {
    if (!response) return MHD_NO;
    const bool is_stream = head.state == Exchange::State::stream;
    bool is_good = true; // out of memory otherwise
    const auto add = [&](const char *name, const std::string &value) {
        is_good = is_good && MHD_add_response_header(response, name, value.c_str()) == MHD_YES;
    };
    if (is_stream || !head.type.empty())
        add("Content-Type", is_stream ? "text/event-stream" : head.type);
    add("Cache-Control", "no-store");
    add("X-Content-Type-Options", "nosniff");
    add("X-Request-Id", request.id);
    if (is_stream) add("X-Accel-Buffering", "no");
    if (request.closes) add("Connection", "close");
    if (!request.origin.empty()) {
        add("Access-Control-Allow-Origin", request.origin);
        add("Access-Control-Expose-Headers", kExposed);
        add("Vary", "Origin");
    }
    for (const auto &[name, value] : head.headers) add(name.c_str(), value);
    const auto status = static_cast<unsigned>(head.status);
    request.is_answered = is_good && MHD_queue_response(connection, status, response) == MHD_YES;
    MHD_destroy_response(response);
    return request.is_answered ? MHD_YES : MHD_NO;
}

MHD_Result HttpServer::Hooks::send(MHD_Connection *connection, Request &request) {
    if (request.is_answered) return MHD_YES;
    const Exchange::Head head =
        request.exchange->take_head([&] { MHD_suspend_connection(connection); });
    if (head.state == Exchange::State::waiting)
        return request.exchange->is_gone() ? MHD_NO : MHD_YES;
    std::unique_ptr<QueryReader> reader(new QueryReader{request.exchange, connection});
    MHD_Response *const response = MHD_create_response_from_callback(
        head.state == Exchange::State::whole ? head.n_bytes : MHD_SIZE_UNKNOWN, kBlockBytes, read,
        reader.get(), free_reader);
    if (response) reader.release();
    return send_head(connection, request, response, head);
}

ssize_t HttpServer::Hooks::read(void *cls, uint64_t, char *out, size_t most) {
    QueryReader &reader = *static_cast<QueryReader *>(cls);
    const ptrdiff_t n =
        reader.exchange->read(out, most, [&] { MHD_suspend_connection(reader.connection); });
    return n == Exchange::kEnd      ? MHD_CONTENT_READER_END_OF_STREAM
           : n == Exchange::kBroken ? MHD_CONTENT_READER_END_WITH_ERROR
                                    : n;
}

void HttpServer::Hooks::free_reader(void *cls) {
    delete static_cast<QueryReader *>(cls);
}

void HttpServer::Hooks::completed(void *cls, MHD_Connection *connection, void **context,
                                  MHD_RequestTerminationCode code) {
    HttpServer &server = *static_cast<HttpServer *>(cls);
    const std::unique_ptr<Request> request(static_cast<Request *>(*context));
    if (!request) return;
    if (request->is_forwarded) server.release(request->address);
    if (request->exchange) {
        request->exchange->close();
        try {
            finish(server, *request, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        } catch (const std::bad_alloc &) {
            if (server.log_.is_open()) server.service_.metrics().log_lost();
        }
    }
    set_phase(server, connection, Phase::idle);
    *context = nullptr;
    server.n_open_--;
}

// Counts and logs a request. The log has counts and times, never user text. Status 499 stands for a
// response that the client did not read to its end, as in the logs of nginx.
void HttpServer::Hooks::finish(HttpServer &server, const Request &request, bool is_sent) {
    const bool is_whole = request.is_answered && (is_sent || request.exchange->is_read());
    const int status = is_whole ? request.exchange->status() : 499;
    server.service_.metrics().request(status);
    if (!server.log_.is_open()) return;
    struct timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const ExchangeFacts facts = request.exchange->facts();
    const Json line =
        Json{{"time", static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)},
             {"request", request.id},
             {"address", request.address},
             {"method", request.method.substr(0, kMostLogged)},
             {"path", request.path.substr(0, kMostLogged)},
             {"status", status},
             {"seconds", monotonic_seconds() - request.began},
             {"id", facts.id.empty() ? Json() : Json(facts.id)},
             {"prompt_tokens", facts.n_prompt},
             {"cached_tokens", facts.n_cached},
             {"completion_tokens", facts.n_answer}};
    if (!server.log_.write(line.dump() + "\n")) server.service_.metrics().log_lost();
}

// ---- the daemon ----

HttpServer::HttpServer(int socket, Service &service, const Guard &guard,
                       const HttpOptions &options) try
    : service_(service), guard_(guard), options_(options), log_(options.access_log) {
    // This class has the time limits: those of the library know neither bursts nor phases.
    daemon_ = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ERROR_LOG,
        0, Hooks::accept, this, Hooks::request, this, MHD_OPTION_EXTERNAL_LOGGER, quiet, nullptr,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED, Hooks::completed, this,
        MHD_OPTION_NOTIFY_CONNECTION, Hooks::connection, this, MHD_OPTION_CONNECTION_LIMIT,
        options.n_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeaderBytes,
        MHD_OPTION_UNESCAPE_CALLBACK, Hooks::unescape, this, MHD_OPTION_END);
    if (!daemon_) throw Failure(kRuntimeError, "the HTTP library cannot start");
} catch (...) { close(socket); }

HttpServer::~HttpServer() {
    MHD_stop_daemon(daemon_);
}

} // namespace ggufx::cli
