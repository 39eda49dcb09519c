// Queue of events that were not polled yet. Texts, tokens and candidates lie in three lists; an
// event has the end of its share of each. A mark restores the queue after a failed step.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::generate {

// Values of GGUFX_EVENT_*.
enum class EventKind : uint32_t {
    none = 0,
    text = 1,
    reasoning = 2,
    tool_call = 3,
    tool_arguments = 4,
    prompt = 5,
    end = 6,
    tool_id = 7,
};

// Values of GGUFX_END_*.
enum class End : uint32_t {
    none = 0,
    eog = 1,
    stop = 2,
    length = 3,
    context = 4,
    grammar = 5,
    cancelled = 6,
    error = 7,
    tool_call = 8,
};

struct Logprob { // layout of ggufx_logprob
    int32_t id;
    float logprob;
};

struct EventToken { // layout of ggufx_event_token
    int32_t id;
    float logprob;
    uint64_t offset; // position of its first byte in the output
    const Logprob *top;
    size_t n_top;
};

struct Event {
    EventKind kind = EventKind::none;
    End end = End::none;
    Status status = Status::ok;
    uint32_t index = 0;
    std::string_view text = {};
    const EventToken *tokens = nullptr;
    size_t n_tokens = 0;
};

class EventQueue {
public:
    explicit EventQueue(const Host *host);

    size_t n_events() const { return records_.size() - first_; }
    uint64_t bytes() const;
    void clear();

    // These throw std::bad_alloc and have changed nothing then. A token with its candidates waits
    // for the event with its last byte, which is before byte `end` of the output.
    void add_token(const EventToken &token, uint64_t end);
    // The event gets the waiting tokens that end at or before a byte of the output.
    void add(const Event &event, uint64_t n_released);
    // Waiting tokens that begin at or after a byte get no event: those of a stop string.
    void drop_tokens(uint64_t offset);

    // Takes the next event; its text and tokens stay until the next call.
    bool take(Event &out);

    struct Mark {
        size_t n_records = 0, n_text = 0, n_tokens = 0, n_top = 0, n_assigned = 0;
        size_t dropped = SIZE_MAX;
    };
    Mark mark() const {
        return {records_.size(), text_.size(), tokens_.size(), top_.size(), n_assigned_, dropped_};
    }
    void rewind(const Mark &mark);

    // Calls visit(event, index of its first token) for each event that is left, then with the
    // waiting tokens.
    template <class Visit> void each(Visit &&visit) const;
    EventToken token(size_t index) const {
        EventToken out = tokens_[index];
        out.top = top_.data() + first_tops_[index];
        return out;
    }
    uint64_t token_end(size_t index) const { return ends_[index]; }

private:
    struct Record {
        EventKind kind;
        End end;
        Status status;
        uint32_t index;
        size_t text_end, first_token, tokens_end; // in the lists
    };
    Event event(const Record &record, size_t first_text) const;
    size_t tokens_end() const { return dropped_ < tokens_.size() ? dropped_ : tokens_.size(); }
    void compact();

    Vector<Record> records_;
    Vector<char> text_;
    Vector<EventToken> tokens_; // `top` is set when an event is taken
    Vector<uint64_t> ends_;     // for each token
    Vector<size_t> first_tops_; // for each token
    Vector<Logprob> top_;
    size_t first_ = 0, first_text_ = 0; // the next event, and its text
    size_t n_assigned_ = 0;             // tokens that have an event
    size_t dropped_ = SIZE_MAX;         // the first token that gets none
};

template <class Visit> void EventQueue::each(Visit &&visit) const {
    size_t text = first_text_;
    for (size_t i = first_; i < records_.size(); i++) {
        visit(event(records_[i], text), records_[i].first_token);
        text = records_[i].text_end;
    }
    const Record waiting = {EventKind::none, End::none,   Status::ok, 0, text,
                            n_assigned_,     tokens_end()};
    visit(event(waiting, text), n_assigned_);
}

} // namespace ggufx::generate
