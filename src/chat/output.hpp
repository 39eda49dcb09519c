// A model's output, split as it comes into answer, reasoning and tool calls. The template's format says
// which markers count; everything else is answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/call_scanner.hpp"

namespace ggufx::chat {

enum class EventKind : uint32_t { answer = 1, reasoning = 2, name = 3, arguments = 4, id = 5 };

// Gets pieces of whole characters; `call` counts the tool calls from 0. Non-zero: stop.
struct Sink {
    void *user = nullptr;
    int32_t (*event)(void *user, uint32_t kind, uint64_t call, const char *text,
                     size_t length) = nullptr;
};

struct ParserOptions {
    bool calls = true;       // else tool calls are text
    bool reasoning = true;   // else it is text of the answer, with its markers
    std::string_view prompt; // it may have opened the reasoning or a call
    std::string_view tools;  // JSON; empty: none
};

class OutputParser {
public:
    // Throws what read_json throws for tools, std::bad_alloc.
    OutputParser(const Ref<Host> &host, Ref<OutputFormat> format, const ParserOptions &options,
                 const Sink &sink);
    // Any bytes, in any pieces. Throws Error (cancelled) / std::bad_alloc; then it is over.
    void feed(std::string_view bytes);
    void finish(); // the output has ended: held bytes become events
    const Ref<Host> &host() const { return host_; }
    // The marker that ends the reasoning at hand, empty outside of reasoning.
    std::string_view reasoning_close() const;
    uint64_t n_calls() const { return n_calls_; }

private:
    enum class State : uint8_t {
        answer,
        reasoning,
        call,    // from its first marker on, until it is whole
        confirm, // a call within reasoning: what follows decides
        after,   // a call: its last markers may come
        header,  // of a message of harmony, up to <|message|>
    };
    enum class Kind : uint8_t {
        reasoning_open,
        reasoning_close,
        section,
        open,
        name,
        dropped,
        harmony_start,
        harmony_channel,
        harmony_end,
    };
    struct Marker {
        std::string_view text;
        Kind kind;
        size_t index; // of the reasoning
    };
    static constexpr size_t kMostMarkers = 24;
    static constexpr size_t kLongestHeader = 4 << 10;
    static constexpr size_t kLongestGap = 256; // white space between a call and its last markers

    void add_marker(std::string_view text, Kind kind, size_t index = 0);
    void add_markers();
    void open_with_prompt(std::string_view prompt);
    void take(const char *bytes, size_t n); // valid UTF-8
    void run(bool last);
    bool step(bool last);
    bool step_text(bool last);
    bool step_call(bool last);
    bool step_confirm(bool last);
    bool step_after(bool last);
    bool step_header(bool last);
    const Marker *find_marker(bool last, bool &partial) const;
    bool is_active(const Marker &marker) const;
    bool at_bare_call() const;
    void open(const Marker &marker);
    void begin_call(CallScanner::Entry entry, size_t length);
    bool accept_call();
    bool give_up(size_t n);
    Match skip_closers(std::string_view s, size_t &i, bool last) const;
    void finish_call();
    void open_header();
    void begin_message(std::string_view header);

    void plain(size_t n); // bytes of the answer or the reasoning
    void text(std::string_view text);
    void flush();
    void newlines();
    void tell(EventKind kind, std::string_view text);
    std::string_view rest() const { return {held_.data() + at_, held_.size() - at_}; }
    void drop(size_t n);

    Ref<Host> host_;
    Ref<OutputFormat> format_;
    Sink sink_;
    ToolSchemas tools_;
    CallScanner scanner_;
    Marker markers_[kMostMarkers] = {};
    size_t n_markers_ = 0;
    bool begins_marker_[256] = {}; // bytes
    MarkerTokens closers_;         // markers after a call
    Vector<char> held_;            // from at_ on: no event yet
    size_t at_ = 0;
    size_t seen_ = 0;      // of rest(): looked at, in a header
    size_t preset_ = 0;    // of rest(): a marker that the prompt ends with
    Vector<char> out_;     // of one kind, to become an event
    char partial_[4] = {}; // of a character
    size_t n_partial_ = 0;
    State state_ = State::answer;
    State origin_ = State::answer; // of a call
    bool calls_ = true;
    const bool reasons_;   // reasoning is told apart
    bool is_raw_ = false;  // within reasoning of harmony that is not
    bool at_start_ = true; // of a message: reasoning may be opened
    bool drop_newlines_ = false;
    bool ended_ = false;
    bool in_call_ = false;         // a body of harmony that is arguments
    bool has_body_ = false;        // it has some
    bool listed_ = false;          // calls in a list in brackets
    bool has_stray_close_ = false; // a call ended the reasoning: its marker may still come
    size_t pending_newlines_ = 0;
    size_t opened_ = 0; // reasoning
    uint64_t n_calls_ = 0;
};

} // namespace ggufx::chat
