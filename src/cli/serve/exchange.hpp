// Response to one HTTP request, passed from the threads that produce it to the one that sends it.
// Independent of the HTTP library: the sender sets `wake` and polls for the data.
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

// Access-log fields beside the request line; never contains user text.
struct ExchangeFacts {
    std::string id;
    uint64_t n_prompt = 0, n_cached = 0, n_answer = 0;
};

class Exchange {
public:
    using Header = std::pair<std::string, std::string>;
    // Unsent bytes of a stream; limit for slow clients.
    static constexpr size_t kMostUnsent = 256u << 10;

    // `owner`: id of the API key, 0 without keys. `asker`: id for fair queueing, from the key or
    // the address.
    Exchange(int socket, uint64_t owner, uint64_t asker)
        : owner_(owner), asker_(asker), socket_(socket) {}

    // Producer side. The first call of respond or open_stream decides the response.
    void respond(int status, const std::string &type, std::string body,
                 std::vector<Header> headers = {});
    void respond(const ApiError &error);
    void respond_out_of_memory() noexcept; // 503; needs no memory
    void open_stream();
    // Call before respond or open_stream.
    void add_header(const std::string &name, const std::string &value);
    void write(std::string_view text);
    void end();
    void keep_alive(double now); // sends an SSE comment after a quiet period
    void tell(ExchangeFacts facts);
    bool is_gone(); // the client disconnected or is too slow; polls the socket
    uint64_t owner() const { return owner_; }
    uint64_t asker() const { return asker_; }

    // Sender side.
    enum class State { waiting, whole, stream };
    struct Head {
        State state;
        int status;
        std::string type, body; // set for whole responses; moved out
        std::vector<Header> headers;
    };
    // Returns the available head. If there is none, `wait` runs under the lock, so that no wake is
    // lost.
    Head take_head(const std::function<void()> &wait);
    // Returns the stream bytes read; 0 after calling `wait` if there are none yet, -1 at the end.
    ptrdiff_t read(char *out, size_t most, const std::function<void()> &wait);
    void set_wake(std::function<void()> wake);
    void close(); // the socket may be reused from here on
    int status() const { return status_; }
    ExchangeFacts facts();

private:
    void wake(); // call with the lock held

    std::mutex mutex_;
    uint64_t owner_, asker_;
    int socket_;
    State state_ = State::waiting;
    int status_ = 0;
    std::string type_, body_;
    // Response for which there is no memory later.
    std::string spare_type_ = "application/json",
                spare_body_ =
                    "{\"error\":{\"message\":\"out of memory\",\"type\":\"overloaded_error\","
                    "\"param\":null,\"code\":\"out_of_memory\"}}\n";
    std::vector<Header> headers_;
    size_t n_sent_ = 0;
    bool ended_ = false, is_waiting_ = false;
    ExchangeFacts facts_;
    std::atomic<bool> gone_ = false;
    std::atomic<double> last_write_ = 0;
    std::function<void()> wake_;
};

} // namespace ggufx::cli
