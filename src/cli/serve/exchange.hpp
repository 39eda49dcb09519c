// The answer to one request on its way from the threads that make it to the one that sends it.
// Knows no HTTP library: who sends sets `wake` and asks `look` for what there is.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ggufx::cli {

// What the access log has of a request beside its line; never a text of a person.
struct ExchangeFacts {
    std::string id;
    uint64_t n_prompt = 0, n_cached = 0, n_answer = 0;
};

class Exchange {
public:
    using Header = std::pair<std::string, std::string>;
    static constexpr size_t kMostUnsent = 256u << 10; // of a stream whose reader is slow

    // `owner`: of the key, 0 without; `asker`: who takes turns with others, the key or an address.
    Exchange(int socket, uint64_t owner, uint64_t asker)
        : owner_(owner), asker_(asker), socket_(socket) {}

    // Of those that make the answer. The first of respond and open_stream counts.
    void respond(int status, const std::string &type, std::string body,
                 std::vector<Header> headers = {});
    void respond(const ApiError &error);
    void open_stream();
    void add_header(const std::string &name, const std::string &value); // before either
    void write(std::string_view text);
    void end();
    void keep_alive(double now); // a comment, where nothing was written for long
    void tell(ExchangeFacts facts);
    bool is_gone(); // the client left, or is too slow; asks the socket
    uint64_t owner() const { return owner_; }
    uint64_t asker() const { return asker_; }

    // Of the one that sends.
    enum class State { waiting, whole, stream };
    struct Head {
        State state;
        int status;
        std::string type, body; // of whole ones; moved
        std::vector<Header> headers;
    };
    // What is there; `wait` runs under the lock where nothing is: no wake gets lost between.
    Head take_head(const std::function<void()> &wait);
    // Bytes of a stream: 0 and `wait` where there are none yet, -1 at its end.
    ptrdiff_t read(char *out, size_t most, const std::function<void()> &wait);
    void set_wake(std::function<void()> wake);
    void close(); // the socket is another's now
    int status() const { return status_; }
    ExchangeFacts facts();

private:
    void wake(); // under the lock

    std::mutex mutex_;
    uint64_t owner_, asker_;
    int socket_;
    State state_ = State::waiting;
    int status_ = 0;
    std::string type_, body_;
    std::vector<Header> headers_;
    size_t n_sent_ = 0;
    bool ended_ = false, is_waiting_ = false;
    ExchangeFacts facts_;
    std::atomic<bool> gone_ = false;
    std::atomic<double> last_write_ = 0;
    std::function<void()> wake_;
};

} // namespace ggufx::cli
