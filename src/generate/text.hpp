// Output of one generator: tokens to bytes, stop strings, whole characters, parsed parts, events.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/utf8_repair.hpp"
#include "generate/events.hpp"
#include "generate/parts.hpp"
#include "generate/stray_markers.hpp"
#include "sampling/stop.hpp"
#include "tokenizer/tokenizer.hpp"

#include <optional>

namespace ggufx::generate {

class Text {
public:
    struct Options {
        const model::Tokenizer *tokenizer = nullptr; // null: ids only
        bool shows_special = false;
        const std::string_view *stops = nullptr; // copied
        size_t n_stops = 0;
    };
    // Throws std::bad_alloc.
    Text(const Ref<Host> &host, const Options &options);
    Text(const Text &other); // without use until the next begin. Throws std::bad_alloc

    // Begins another output. format: null without messages; it must live until the next begin.
    // Throws; the output is then of no use until the next begin.
    void begin(const Format *format);
    // Adds the bytes of a token, then shows those that belong to no stop string: their events go to
    // `queue`, or nowhere if it is null. These throw Error / std::bad_alloc; the output is then of
    // no use until the next begin.
    void add(int32_t id);
    void show(EventQueue *queue);
    // For a constraint, in place of show: without a search for stop strings; or without events, in
    // which case it returns the bytes, valid until the next call.
    void show_all(EventQueue *queue);
    std::string_view hide();
    // From here on the bytes are text of the answer, whatever they are.
    void leave_parser();
    // Receiver of the parts of a tool call that the parser does not read.
    OutputSink call_sink(EventQueue *queue);
    // Bytes that were held back become events. Throws as show.
    void finish(EventQueue *queue);

    int32_t found_stop() const { return stop_ ? stop_->found() : -1; }
    bool is_reasoning() const { return parser_ && parser_->is_reasoning(); }
    // The output ends after one tool call, and has it.
    bool has_only_call() const {
        return parser_ && format_->has_one_call() && parser_->n_calls() > 0;
    }
    // Whether the latest token is a part of the reasoning, as its events say.
    bool reasons() const {
        return parser_ && format_->keeps_reasoning() ? is_reasoning() : reasons_;
    }
    // Appends the tokens of the marker that ends the current reasoning, unless the bytes held back
    // may still do so; with line breaks after it, unless it is `alone`. Throws Error /
    // std::bad_alloc.
    bool can_close_reasoning() const { return n_held() == 0 && is_reasoning(); }
    void close_reasoning(Vector<int32_t> &out, bool alone) const;
    // Whether the token ends the output, and whether its text is read all the same.
    bool ends(int32_t id) const;
    bool reads(int32_t id) const;
    uint64_t n_bytes() const { return n_shown_ + n_held(); } // bytes of the tokens so far
    uint64_t bytes() const;                                  // bytes of memory

private:
    size_t n_held() const { return held_.size() - first_; }
    TokenUse use(int32_t id) const;
    void append(const int32_t *id, bool last);
    void show_held(size_t n);
    void release(size_t n, TokenUse use);
    void put(std::string_view text);
    void tell(EventKind kind, uint32_t index, std::string_view text);
    static void on_output(void *self, uint32_t kind, uint64_t call, std::string_view text);

    Ref<Host> host_;
    const model::Tokenizer *tokenizer_;
    const bool shows_special_;
    std::optional<sampling::Stop> stop_;
    const Format *format_ = nullptr;
    Owned<Parser> parser_;
    model::DetokenizeState state_;
    Utf8Repair utf8_;
    Vector<char> held_; // bytes that may begin a stop string, from first_ on
    size_t first_ = 0;
    size_t n_new_ = 0;          // bytes of the latest token
    bool is_hidden_ = false;    // it gets no event
    uint64_t n_unsearched_ = 0; // bytes before those that are searched for stop strings
    bool reasons_ = false;
    struct Special { // token that is shown as a whole, or hidden
        uint64_t begin, end;
        TokenUse use;
    };
    Vector<Special> specials_; // within held_
    StrayMarkers strays_;
    Vector<char> whole_;   // characters of a part of the output
    uint64_t n_shown_ = 0; // bytes before those held
    EventQueue *queue_ = nullptr;
};

} // namespace ggufx::generate
