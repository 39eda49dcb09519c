// Streaming parser of a model's output: splits it into answer, reasoning and tool calls. The
// markers are those of the template's output format; all other text is answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/utf8_repair.hpp"
#include "chat/call_scanner.hpp"

namespace ggufx::chat {

// Values of GGUFX_EVENT_*.
enum class EventKind : uint32_t { answer = 1, reasoning = 2, name = 3, arguments = 4, id = 7 };

// Receiver of events. Texts are whole UTF-8 characters, and not empty; `call` counts the tool calls
// from 0. Exceptions pass through the parser.
struct Sink {
    void *user = nullptr;
    void (*event)(void *user, uint32_t kind, uint64_t call, std::string_view text) = nullptr;
};

struct ParserOptions {
    bool calls = true;       // false: tool calls are text
    bool reasoning = true;   // false: reasoning is text of the answer, with its markers
    std::string_view prompt; // it may have opened the reasoning or a call
    std::string_view tools;  // JSON; empty: none
};

class OutputParser {
public:
    // Throws the errors of read_json for tools, and std::bad_alloc.
    OutputParser(const Ref<Host> &host, Ref<OutputFormat> format, const ParserOptions &options,
                 const Sink &sink);
    // Parses bytes, split anywhere. Throws std::bad_alloc; the parser then accepts no more input.
    void feed(std::string_view bytes);
    void finish(); // end of the output: held bytes become events
    const Ref<Host> &host() const { return host_; }
    // Returns the marker that ends the current reasoning, empty outside of reasoning.
    std::string_view reasoning_close() const;
    uint64_t n_calls() const { return n_calls_; }

private:
    enum class State : uint8_t {
        answer,
        reasoning,
        call,    // from its first marker until it is complete
        confirm, // a call within reasoning: the following text decides
        after,   // after a call: its closing markers may follow
        header,  // header of a harmony message, up to <|message|>
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
        size_t index; // index of the reasoning format
    };
    static constexpr size_t kMostMarkers = 24;
    static constexpr size_t kLongestHeader = 4 << 10;
    static constexpr size_t kLongestGap = 256; // white space between a call and its closing markers

    void add_marker(std::string_view text, Kind kind, size_t index = 0);
    void add_markers();
    void open_with_prompt(std::string_view prompt);
    void hold(std::string_view text); // valid UTF-8
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
    bool is_next_object(std::string_view s, size_t i) const;
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
    bool begins_marker_[256] = {}; // first bytes of markers
    MarkerTokens closers_;         // markers after a call
    Vector<char> held_;            // bytes from at_ on have no event yet
    size_t at_ = 0;
    size_t seen_ = 0;   // bytes of rest() already scanned, in a header
    size_t preset_ = 0; // bytes of rest() that are a marker at the end of the prompt
    Vector<char> out_;  // pending text of one kind
    Utf8Repair repair_; // state between calls of feed()
    State state_ = State::answer;
    State origin_ = State::answer; // state before the call
    bool calls_ = true;
    const bool reasons_;   // reasoning gets its own events
    bool is_raw_ = false;  // harmony reasoning that is reported as text
    bool at_start_ = true; // start of a message: reasoning may be opened
    bool drop_newlines_ = false;
    bool ended_ = false;
    bool in_call_ = false;         // body of a harmony message with call arguments
    bool has_body_ = false;        // the body is not empty
    bool listed_ = false;          // calls in a list in brackets
    bool has_stray_close_ = false; // a call ended the reasoning; its closing marker may follow
    size_t pending_newlines_ = 0;
    size_t opened_ = 0; // index of the open reasoning format
    uint64_t n_calls_ = 0;
};

} // namespace ggufx::chat
