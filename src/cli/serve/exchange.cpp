// SPDX-License-Identifier: MIT
#include "serve/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <poll.h>

namespace ggufx::cli {

namespace {

// Seconds without output before a keep-alive comment, so that proxies do not time out.
constexpr double kQuiet = 15;
constexpr std::string_view kComment = ": keep-alive\n\n";
constexpr size_t kPartBytes = 16u << 10; // least size of a part of a body

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
    const size_t n_bytes = body.size();
    std::string own_type = type;
    headers_.reserve(headers_.size() + headers.size());
    if (n_bytes > 0) unsent_.push_back(std::move(body));
    // Nothing fails from here on: a response without memory is another one.
    for (Header &header : headers) headers_.push_back(std::move(header));
    type_ = std::move(own_type);
    n_unsent_ = n_bytes;
    status_ = status;
    state_ = State::whole;
    ended_ = true;
    wake();
}

void Exchange::respond(const ApiError &error) {
    std::vector<Header> headers;
    if (error.status == 429 || error.status == 503) headers.emplace_back("Retry-After", "1");
    if (error.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
    respond(error.status, "application/json", error.to_json().dump() + "\n", std::move(headers));
}

// Appends parts until there are enough bytes; returns false after the last one.
static bool fill_part(std::string &part, const Exchange::Source &next) {
    while (part.size() < kPartBytes)
        if (!next(part)) return false;
    return true;
}

void Exchange::respond_parts(const std::string &type, Source next) {
    std::string first;
    if (!fill_part(first, next)) {
        respond(200, type, std::move(first));
        return;
    }
    const std::lock_guard lock(mutex_);
    if (state_ != State::waiting) return;
    std::string own_type = type;
    const size_t n_bytes = first.size();
    unsent_.push_back(std::move(first));
    type_ = std::move(own_type);
    next_ = std::move(next);
    n_unsent_ = n_bytes;
    status_ = 200;
    state_ = State::parts;
    ended_ = true;
    wake();
}

void Exchange::respond_out_of_memory() noexcept {
    const std::lock_guard lock(mutex_);
    if (state_ == State::waiting) {
        state_ = State::whole;
        status_ = 503;
        type_.swap(spare_type_);
        unsent_.swap(spare_);
        n_unsent_ = unsent_.front().size();
    } else if (state_ == State::stream && !ended_) {
        gone_ = is_cut_ = true;
    }
    ended_ = true;
    wake();
}

void Exchange::add_header(const std::string &name, const std::string &value) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::waiting) headers_.emplace_back(name, value);
}

void Exchange::open_stream(CutEvent cut_event) {
    const std::lock_guard lock(mutex_);
    if (state_ != State::waiting) return;
    state_ = State::stream;
    status_ = 200;
    cut_event_ = cut_event;
    wake();
}

void Exchange::append(std::string_view text) {
    if (ended_ || gone_ || text.empty()) return;
    unsent_.emplace_back(text);
    n_unsent_ += text.size();
    wake();
}

void Exchange::write(std::string_view event) {
    const std::lock_guard lock(mutex_);
    append(event);
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
    const std::lock_guard lock(mutex_);
    if (unsent_.empty()) append(kComment);
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
    next_ = nullptr;
}

Exchange::Head Exchange::take_head(const std::function<void()> &wait) {
    const std::lock_guard lock(mutex_);
    Head out = {state_, status_, type_, n_unsent_, headers_};
    if (state_ == State::waiting && !gone_) {
        is_waiting_ = true;
        wait();
    }
    return out;
}

size_t Exchange::take(char *out, size_t most) {
    size_t n = 0;
    while (n < most && !unsent_.empty()) {
        const std::string &first = unsent_.front();
        const size_t more = std::min(first.size() - n_of_first_, most - n);
        std::memcpy(out + n, first.data() + n_of_first_, more);
        n += more;
        n_of_first_ += more;
        if (n_of_first_ < first.size()) break;
        n_events_ += first != kComment;
        unsent_.pop_front();
        n_of_first_ = 0;
    }
    n_unsent_ -= n;
    n_read_ += n;
    return n;
}

// Puts the next part of the body into unsent_.
void Exchange::pull() {
    try {
        std::string part;
        const bool is_last = !fill_part(part, next_);
        const size_t n_bytes = part.size();
        if (n_bytes > 0) unsent_.push_back(std::move(part));
        n_unsent_ += n_bytes;
        if (is_last) next_ = nullptr;
    } catch (const std::exception &) { // the client notices that the end is missing
        next_ = nullptr;
        gone_ = is_cut_ = true;
    }
}

ptrdiff_t Exchange::read(char *out, size_t most, const std::function<void()> &wait) {
    const std::lock_guard lock(mutex_);
    n_sent_ = n_read_;
    if (gone_ && !is_cut_) return kBroken;
    if (unsent_.empty() && next_) pull();
    if (const size_t n = take(out, most)) return static_cast<ptrdiff_t>(n);
    if (is_cut_) return kBroken;
    if (ended_) {
        n_read_++;
        return kEnd;
    }
    is_waiting_ = true;
    wait();
    return 0;
}

bool Exchange::is_slow(double now, double seconds) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::waiting || gone_) return false;
    const uint64_t owed = n_unsent_ + n_read_ - n_sent_;
    if (owed == 0) due_ = 0;
    if (owed > 0 && (due_ == 0 || n_sent_ >= goal_)) {
        due_ = now + seconds;
        goal_ = n_sent_ + std::min<uint64_t>(owed, kLeastRead);
    }
    return owed > 0 && now >= due_;
}

bool Exchange::cut(const ApiError &error) {
    const std::lock_guard lock(mutex_);
    gone_ = is_cut_ = true;
    next_ = nullptr;
    unsent_.resize(n_of_first_ > 0 ? 1 : 0);
    n_unsent_ = unsent_.empty() ? 0 : unsent_.front().size() - n_of_first_;
    const bool keeps_event = !unsent_.empty() && unsent_.front() != kComment;
    wake();
    if (!cut_event_) return false;
    try {
        std::string last = cut_event_(error, n_events_ + keeps_event);
        const size_t n_bytes = last.size();
        unsent_.push_back(std::move(last));
        n_unsent_ += n_bytes;
        return true;
    } catch (const std::bad_alloc &) { return false; } // the stream ends without the event
}

bool Exchange::is_read() {
    const std::lock_guard lock(mutex_);
    return ended_ && !is_cut_ && n_unsent_ == 0 && !next_;
}

} // namespace ggufx::cli
