// Response to one HTTP request, passed from the threads that produce it to the one that sends it.
// Independent of the HTTP library: the sender sets `wake` and polls for the data.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"

#include <atomic>
#include <deque>
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
    // Returns the last event of a stream that is cut after `n_events` events.
    using CutEvent = std::string (*)(const ApiError &error, size_t n_events);
    // Bytes that a client reads within the time limit for sending, if so many wait for it.
    static constexpr size_t kLeastRead = 256u << 10;

    // `owner`: id of the API key, 0 without keys. `asker`: id for fair queueing, from the key or
    // the address.
    Exchange(int socket, uint64_t owner, uint64_t asker)
        : owner_(owner), asker_(asker), socket_(socket) {}

    // Producer side. The first call of respond or open_stream decides the response.
    void respond(int status, const std::string &type, std::string body,
                 std::vector<Header> headers = {});
    void respond(const ApiError &error);
    // Responds with 200 and a body whose parts `next` appends to its argument, until it returns
    // false. The sender calls it as the client reads, so a large body takes little memory; if it
    // throws, the connection is closed. A short body is sent as a whole.
    using Source = std::function<bool(std::string &out)>;
    void respond_parts(const std::string &type, Source next);
    void respond_out_of_memory() noexcept; // 503; needs no memory
    void open_stream(CutEvent cut_event);
    // Call before respond or open_stream.
    void add_header(const std::string &name, const std::string &value);
    void write(std::string_view event); // one whole event of a stream
    void end();                         // ends a stream
    void keep_alive(double now);        // sends an SSE comment after a quiet period
    void tell(ExchangeFacts facts);
    bool is_gone(); // the client disconnected or was too slow; polls the socket
    uint64_t owner() const { return owner_; }
    uint64_t asker() const { return asker_; }

    // Sender side.
    enum class State { waiting, whole, parts, stream };
    struct Head {
        State state;
        int status;
        std::string type; // empty for streams
        size_t n_bytes;   // if the response is whole
        std::vector<Header> headers;
    };
    // Returns the available head. If there is none, `wait` runs under the lock, so that no wake is
    // lost.
    Head take_head(const std::function<void()> &wait);
    // Returns the number of bytes read; 0 after calling `wait` if there are none yet, kEnd after the
    // last one, kBroken if the client left or the stream was cut. A call means that the client has
    // everything that the calls before returned.
    static constexpr ptrdiff_t kEnd = -1, kBroken = -2;
    ptrdiff_t read(char *out, size_t most, const std::function<void()> &wait);
    void set_wake(std::function<void()> wake);
    void close(); // the socket may be reused from here on
    // Returns true if the client has not read what waits for it, at most kLeastRead, in `seconds`.
    // Time counts from the first call that finds something.
    bool is_slow(double now, double seconds);
    // Ends the work for a slow client. The rest of the current event and an error event replace the
    // unsent part of a stream. Returns true if this event waits to be read.
    bool cut(const ApiError &error);
    bool is_read(); // the client's side has read everything
    int status() const { return status_; }
    ExchangeFacts facts();

private:
    void wake(); // call with the lock held; so are the next ones
    void append(std::string_view text);
    size_t take(char *out, size_t most);
    void pull();

    std::mutex mutex_;
    uint64_t owner_, asker_;
    int socket_;
    State state_ = State::waiting;
    int status_ = 0;
    std::string type_;
    std::vector<Header> headers_;
    std::deque<std::string> unsent_; // the whole body, or events
    // Response for which there is no memory later.
    std::string spare_type_ = "application/json";
    std::deque<std::string> spare_ = {
        "{\"error\":{\"message\":\"out of memory\",\"type\":\"overloaded_error\",\"param\":null,"
        "\"code\":\"out_of_memory\"}}\n"};
    CutEvent cut_event_ = nullptr;
    Source next_; // NULL: nothing comes after unsent_
    // Bytes in unsent_, bytes of its first entry that were read, events that were read.
    size_t n_unsent_ = 0, n_of_first_ = 0, n_events_ = 0;
    // Bytes that were read, and those of them that were sent. The head counts as one byte, and so
    // does the end of the response.
    uint64_t n_read_ = 1, n_sent_ = 0, goal_ = 0;
    double due_ = 0; // time by which goal_ must be sent; 0: none
    bool ended_ = false, is_waiting_ = false, is_cut_ = false;
    ExchangeFacts facts_;
    std::atomic<bool> gone_ = false;
    std::atomic<double> last_write_ = 0;
    std::function<void()> wake_;
};

} // namespace ggufx::cli
