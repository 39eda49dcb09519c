// SPDX-License-Identifier: MIT
#include "serve/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <poll.h>

namespace ggufx::cli {

namespace {

// Seconds without output before a keep-alive comment, so that proxies do not time out.
constexpr double kQuiet = 15;

} // namespace

void Exchange::wake() {
    if (!is_waiting_) return;
    is_waiting_ = false;
    if (wake_) wake_();
}

void Exchange::set_wake(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
}

void Exchange::respond(int status, const std::string &type, std::string body,
                       std::vector<Header> headers) {
    const std::lock_guard lock(mutex_);
    if (state_ != State::waiting) return;
    state_ = State::whole;
    status_ = status;
    type_ = type;
    body_ = std::move(body);
    for (Header &header : headers) headers_.push_back(std::move(header));
    ended_ = true;
    wake();
}

void Exchange::respond(const ApiError &error) {
    std::vector<Header> headers;
    if (error.status == 429 || error.status == 503) headers.emplace_back("Retry-After", "1");
    if (error.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
    respond(error.status, "application/json", error.to_json().dump() + "\n", std::move(headers));
}

void Exchange::respond_out_of_memory() noexcept {
    const std::lock_guard lock(mutex_);
    if (state_ == State::waiting) {
        state_ = State::whole;
        status_ = 503;
        type_.swap(spare_type_);
        body_.swap(spare_body_);
    }
    ended_ = true;
    wake();
}

void Exchange::add_header(const std::string &name, const std::string &value) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::waiting) headers_.emplace_back(name, value);
}

void Exchange::open_stream() {
    const std::lock_guard lock(mutex_);
    if (state_ != State::waiting) return;
    state_ = State::stream;
    status_ = 200;
    wake();
}

void Exchange::write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (ended_ || gone_) return;
    body_ += text;
    if (body_.size() - n_sent_ > kMostUnsent) gone_ = true;
    wake();
}

void Exchange::end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wake();
}

void Exchange::keep_alive(double now) {
    // State_ was set by the calling thread, or before the exchange was shared.
    if (state_ != State::stream) return;
    if (last_write_ == 0 || now < last_write_) last_write_ = now;
    if (now - last_write_ < kQuiet) return;
    last_write_ = now;
    write(": keep-alive\n\n");
}

void Exchange::tell(ExchangeFacts facts) {
    const std::lock_guard lock(mutex_);
    facts_ = std::move(facts);
}

ExchangeFacts Exchange::facts() {
    const std::lock_guard lock(mutex_);
    return facts_;
}

// Returns true after a disconnect; a half-closed connection counts as one.
bool Exchange::is_gone() {
    if (gone_) return true;
    const std::lock_guard lock(mutex_);
    if (ended_ || socket_ < 0) return gone_;
    struct pollfd at = {socket_, POLLRDHUP, 0};
    if (poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        gone_ = true;
        wake(); // the connection thread closes the waiting connection
    }
    return gone_;
}

void Exchange::close() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    socket_ = -1;
    wake_ = nullptr;
}

Exchange::Head Exchange::take_head(const std::function<void()> &wait) {
    const std::lock_guard lock(mutex_);
    Head out = {state_, status_, type_, {}, headers_};
    if (state_ == State::whole) out.body = std::move(body_);
    if (state_ == State::waiting && !gone_) {
        is_waiting_ = true;
        wait();
    }
    return out;
}

ptrdiff_t Exchange::read(char *out, size_t most, const std::function<void()> &wait) {
    const std::lock_guard lock(mutex_);
    if (gone_) return -1;
    const size_t n = std::min(body_.size() - n_sent_, most);
    if (n == 0) {
        if (ended_) return -1;
        is_waiting_ = true;
        wait();
        return 0;
    }
    std::memcpy(out, body_.data() + n_sent_, n);
    n_sent_ += n;
    if (n_sent_ == body_.size()) {
        body_.clear();
        n_sent_ = 0;
    }
    return static_cast<ptrdiff_t>(n);
}

} // namespace ggufx::cli
