// SPDX-License-Identifier: MIT
#include "serve/listen.hpp"

#include "common/text.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

constexpr int kBacklog = 512;

[[noreturn]] void fail(int socket, const std::string &where) {
    const int error = errno;
    if (socket >= 0) close(socket);
    throw Failure(kRuntimeError,
                  fmt::format("cannot listen on {}: {}", escape(where), std::strerror(error)));
}

unsigned port_of(int socket) {
    struct sockaddr_storage at = {};
    socklen_t n = sizeof at;
    if (getsockname(socket, reinterpret_cast<struct sockaddr *>(&at), &n) != 0) return 0;
    struct sockaddr_in4_or_6 {
        sa_family_t family;
        in_port_t port;
    } head = {};
    std::memcpy(&head, &at, sizeof head); // both structures have the family at the same offset
    return ntohs(head.port);
}

bool is_loopback(const struct sockaddr *at) {
    if (at->sa_family == AF_INET) {
        const auto *const v4 = reinterpret_cast<const struct sockaddr_in *>(at);
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const auto *const v6 = reinterpret_cast<const struct sockaddr_in6 *>(at);
    return at->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

using Addresses = std::unique_ptr<struct addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string &host, unsigned port) {
    struct addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    struct addrinfo *found = nullptr;
    const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0)
        throw Failure(kUsage, fmt::format("--host: \"{}\": {}", escape(host), gai_strerror(error)));
    return {found, freeaddrinfo};
}

} // namespace

bool is_loopback_name(const std::string &host) {
    const Addresses found = resolve(host, 0);
    for (const struct addrinfo *at = found.get(); at; at = at->ai_next)
        if (!is_loopback(at->ai_addr)) return false;
    return true;
}

Listening listen_on(const std::string &host, unsigned port) {
    const Addresses found = resolve(host, port);
    const struct addrinfo &at = *found;
    const std::string where = host + ":" + std::to_string(port);
    const int fd = socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail(fd, where);
    const int on = 1;
    // Allows a restart while old connections are in TIME_WAIT.
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, kBacklog) != 0) fail(fd, where);
    const std::string name = at.ai_family == AF_INET6 ? "[" + host + "]" : host;
    return {fd, fmt::format("http://{}:{}", name, port_of(fd)), is_loopback(at.ai_addr), false};
}

Listening listen_on_path(const std::string &path) {
    struct sockaddr_un at = {};
    at.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof at.sun_path)
        throw Failure(kUsage,
                      fmt::format("--listen: a path has 1 to {} bytes", sizeof at.sun_path - 1));
    std::memcpy(at.sun_path, path.data(), path.size());
    struct stat info = {};
    if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path.c_str());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail(fd, path);
    if (bind(fd, reinterpret_cast<const struct sockaddr *>(&at), sizeof at) != 0 ||
        listen(fd, kBacklog) != 0)
        fail(fd, path);
    return {fd, "unix:" + path, true, true};
}

Listening listen_on_given() {
    const auto number = [](const char *name) {
        const char *const text = std::getenv(name);
        return text ? std::strtol(text, nullptr, 10) : 0;
    };
    constexpr int first = 3; // SD_LISTEN_FDS_START
    if (number("LISTEN_PID") != getpid() || number("LISTEN_FDS") < 1)
        throw Failure(kUsage, "--listen systemd: no socket was given (LISTEN_PID, LISTEN_FDS)");
    if (number("LISTEN_FDS") > 1)
        throw Failure(kUsage, "--listen systemd: more than one socket was given");
    int listens = 0;
    socklen_t size = sizeof listens;
    struct sockaddr_storage at = {};
    socklen_t n = sizeof at;
    if (getsockopt(first, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        getsockname(first, reinterpret_cast<struct sockaddr *>(&at), &n) != 0)
        throw Failure(kUsage, "--listen systemd: the socket that was given does not listen");
    fcntl(first, F_SETFD, FD_CLOEXEC);
    if (at.ss_family == AF_UNIX) return {first, "unix:(systemd)", true, true};
    return {first, fmt::format("http://(systemd):{}", port_of(first)),
            is_loopback(reinterpret_cast<const struct sockaddr *>(&at)), false};
}

void notify_manager(const std::string &state) {
    const char *const path = std::getenv("NOTIFY_SOCKET");
    struct sockaddr_un at = {};
    const size_t n = path ? std::strlen(path) : 0;
    if (n < 2 || n >= sizeof at.sun_path || (path[0] != '/' && path[0] != '@')) return;
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path, n);
    if (path[0] == '@') at.sun_path[0] = '\0'; // abstract socket name
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return; // the manager will report the missing notification
    const auto size = static_cast<socklen_t>(offsetof(struct sockaddr_un, sun_path) + n);
    sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<struct sockaddr *>(&at),
           size);
    close(fd);
}

} // namespace ggufx::cli
