// An answer between the threads of the server: which clients are slow, and what a client gets of a
// stream that is cut. The clock is the test's own.
// SPDX-License-Identifier: MIT
#include "serve/exchange.hpp"
#include "check.hpp"
#include "serve/key_hash.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

using namespace ggufx::cli;

namespace {

constexpr double kSeconds = 30;
constexpr size_t kLeast = Exchange::kLeastRead;

// Client at the other end of the HTTP library; reads as the test wants.
class Client {
public:
    explicit Client(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {
        CHECK(exchange_->take_head([] {}).state != Exchange::State::waiting);
    }
    // Reads at most `most` bytes; everything before was sent.
    ptrdiff_t read(size_t most) {
        std::vector<char> bytes(most);
        const ptrdiff_t n = exchange_->read(bytes.data(), most, [] {});
        if (n > 0) text.append(bytes.data(), static_cast<size_t>(n));
        return n;
    }
    ptrdiff_t read_all() {
        ptrdiff_t n = 1;
        while (n > 0) n = read(1000);
        return n;
    }
    std::string text;

private:
    std::shared_ptr<Exchange> exchange_;
};

std::string cut_event(const ApiError &error, size_t n_events) {
    return "error " + std::to_string(n_events) + " " + error.what() + "\n\n";
}

std::shared_ptr<Exchange> stream() {
    auto out = std::make_shared<Exchange>(-1, 0, 0);
    out->open_stream(cut_event);
    return out;
}

std::string event(size_t n_bytes) {
    return std::string(n_bytes - 2, 'x') + "\n\n";
}

void test_a_burst_is_no_lag() {
    const auto answer = stream();
    Client client(answer);
    for (int i = 0; i < 64; i++) answer->write(event(kLeast));
    CHECK(!answer->is_gone());
    CHECK(!answer->is_slow(1000, kSeconds) && !answer->is_slow(1000 + kSeconds - 1, kSeconds));
    answer->end();
    CHECK(client.read_all() == Exchange::kEnd && client.text.size() == 64 * kLeast);
    CHECK(answer->is_read());
}

// A client that reads kLeastRead bytes per time limit, or everything that waits, is never slow.
void test_who_reads_steadily_is_not_slow() {
    const auto answer = stream();
    Client client(answer);
    for (int i = 0; i < 64; i++) answer->write(event(kLeast));
    double now = 1;
    for (int i = 0; i < 64; i++, now += kSeconds - 1) {
        CHECK(!answer->is_slow(now, kSeconds));
        CHECK(client.read(kLeast) == static_cast<ptrdiff_t>(kLeast));
    }
    const auto small = stream();
    Client reader(small);
    for (int i = 0; i < 1000; i++, now += kSeconds - 1) {
        small->write(event(10));
        CHECK(!small->is_slow(now, kSeconds));
        CHECK(reader.read(10) == 10 && reader.read(10) == 0);
    }
}

void test_who_reads_nothing_is_slow() {
    const auto answer = stream();
    Client client(answer);
    answer->write(event(10));
    CHECK(!answer->is_slow(1, kSeconds) && !answer->is_slow(kSeconds, kSeconds));
    CHECK(answer->is_slow(1 + kSeconds, kSeconds));
    // Nor does it help to read a little.
    const auto other = stream();
    Client trickle(other);
    for (int i = 0; i < 4; i++) other->write(event(kLeast));
    double now = 1;
    for (; !other->is_slow(now, kSeconds); now += 1) CHECK(trickle.read(100) == 100);
    CHECK(now == 1 + kSeconds);
}

// A client owes nothing while the model computes.
void test_who_waits_is_not_slow() {
    const auto answer = std::make_shared<Exchange>(-1, 0, 0);
    CHECK(!answer->is_slow(1, kSeconds) && !answer->is_slow(1e6, kSeconds));
    answer->open_stream(cut_event);
    Client client(answer);
    CHECK(client.read(10) == 0);
    for (double now = 1; now < 1e4; now += 100) CHECK(!answer->is_slow(now, kSeconds));
}

// The head of a response, and its end, must be read as well.
void test_heads_and_ends_count() {
    const auto empty = std::make_shared<Exchange>(-1, 0, 0);
    empty->respond(204, "", "");
    CHECK(!empty->is_slow(1, kSeconds) && empty->is_slow(1 + kSeconds, kSeconds));
    const auto answer = stream();
    Client client(answer);
    answer->write(event(10));
    answer->end();
    CHECK(client.read_all() == Exchange::kEnd);
    CHECK(!answer->is_slow(1, kSeconds) && answer->is_slow(1 + kSeconds, kSeconds));
}

void test_a_cut_stream_ends_with_an_error_between_events() {
    const ApiError error(408, "slow");
    for (const size_t n_read : {0u, 3u, 10u, 13u, 20u}) {
        const auto answer = stream();
        Client client(answer);
        for (int i = 0; i < 5; i++) answer->write(event(10));
        if (n_read > 0) CHECK(client.read(n_read) == static_cast<ptrdiff_t>(n_read));
        CHECK(answer->cut(error));
        CHECK(answer->is_gone());
        answer->write(event(10)); // too late
        answer->end();
        CHECK(client.read_all() == Exchange::kBroken && !answer->is_read());
        const size_t n_events = (n_read + 9) / 10;
        std::string want;
        for (size_t i = 0; i < n_events; i++) want += event(10);
        CHECK(client.text == want + "error " + std::to_string(n_events) + " slow\n\n");
    }
}

// Comments are no events, and none is sent to a client that has something to read.
void test_comments() {
    const auto answer = stream();
    Client client(answer);
    answer->keep_alive(1);
    answer->keep_alive(100);
    answer->keep_alive(200);
    CHECK(client.read(5) == 5);
    CHECK(answer->cut(ApiError(408, "slow")));
    CHECK(client.read_all() == Exchange::kBroken);
    CHECK(client.text == ": keep-alive\n\nerror 0 slow\n\n");
}

void test_a_whole_answer_is_cut_without_a_word() {
    const auto answer = std::make_shared<Exchange>(-1, 0, 0);
    answer->respond(200, "text/plain", event(100));
    Client client(answer);
    CHECK(client.read(10) == 10);
    CHECK(!answer->cut(ApiError(408, "slow")) && !answer->is_read());
}

// Vectors of the reference implementation: the secret 00 01 .. 0f, and the first bytes of it.
void test_key_hash() {
    const HashSecret secret = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    std::string bytes;
    for (char i = 0; i < 15; i++) bytes += i;
    CHECK(sip_hash(secret, "") == 0x726fdb47dd0e0e31);
    CHECK(sip_hash(secret, bytes.substr(0, 8)) == 0x93f5f5799a932462);
    CHECK(sip_hash(secret, bytes) == 0xa129ca6149be45e5);
}

} // namespace

int main() {
    return run_checks({test_a_burst_is_no_lag, test_who_reads_steadily_is_not_slow,
                       test_who_reads_nothing_is_slow, test_who_waits_is_not_slow,
                       test_heads_and_ends_count,
                       test_a_cut_stream_ends_with_an_error_between_events, test_comments,
                       test_a_whole_answer_is_cut_without_a_word, test_key_hash});
}
