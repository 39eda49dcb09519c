// SPDX-License-Identifier: MIT
#include "generate/events.hpp"

namespace ggufx::generate {

namespace {

constexpr size_t kTextBytes = 4096, kEvents = 64; // room for events before the first allocation

} // namespace

EventQueue::EventQueue(const Host *host)
    : records_(HostAllocator<Record>(host)), text_(HostAllocator<char>(host)),
      tokens_(HostAllocator<EventToken>(host)), ends_(HostAllocator<uint64_t>(host)),
      first_tops_(HostAllocator<size_t>(host)), top_(HostAllocator<Logprob>(host)) {
    text_.reserve(kTextBytes);
    records_.reserve(kEvents);
    tokens_.reserve(kEvents);
    ends_.reserve(kEvents);
    first_tops_.reserve(kEvents);
}

uint64_t EventQueue::bytes() const {
    return records_.capacity() * sizeof(Record) + text_.capacity() +
           tokens_.capacity() * (sizeof(EventToken) + sizeof(uint64_t) + sizeof(size_t)) +
           top_.capacity() * sizeof(Logprob);
}

void EventQueue::clear() {
    rewind({});
    first_ = first_text_ = 0;
}

void EventQueue::rewind(const Mark &mark) {
    records_.resize(mark.n_records);
    text_.resize(mark.n_text);
    tokens_.resize(mark.n_tokens);
    ends_.resize(mark.n_tokens);
    first_tops_.resize(mark.n_tokens);
    top_.resize(mark.n_top);
    n_assigned_ = mark.n_assigned;
    dropped_ = mark.dropped;
}

void EventQueue::add_token(const EventToken &token, uint64_t end) {
    const Mark before = mark();
    try {
        first_tops_.push_back(top_.size());
        top_.insert(top_.end(), token.top, token.top + token.n_top);
        ends_.push_back(end);
        tokens_.push_back(token);
    } catch (...) {
        rewind(before);
        throw;
    }
}

void EventQueue::add(const Event &event, uint64_t n_released) {
    const Mark before = mark();
    try {
        text_.insert(text_.end(), event.text.begin(), event.text.end());
        while (n_assigned_ < tokens_end() && ends_[n_assigned_] <= n_released) n_assigned_++;
        records_.push_back({event.kind, event.end, event.status, event.index, text_.size(),
                            before.n_assigned, n_assigned_});
    } catch (...) {
        rewind(before);
        throw;
    }
}

void EventQueue::drop_tokens(uint64_t offset) {
    size_t first = tokens_.size();
    while (first > n_assigned_ && tokens_[first - 1].offset >= offset) first--;
    dropped_ = first;
}

Event EventQueue::event(const Record &record, size_t first_text) const {
    return {record.kind,
            record.end,
            record.status,
            record.index,
            {text_.data() + first_text, record.text_end - first_text},
            tokens_.data() + record.first_token,
            record.tokens_end - record.first_token};
}

// Moves what is left to the front, once more than half of it was taken.
void EventQueue::compact() {
    if (first_ < kEvents || 2 * first_ < records_.size()) return;
    const size_t n_tokens = records_[first_ - 1].tokens_end;
    const size_t n_top = n_tokens < tokens_.size() ? first_tops_[n_tokens] : top_.size();
    const auto drop = [](auto &list, size_t n) {
        list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(n));
    };
    drop(records_, first_);
    drop(text_, first_text_);
    drop(tokens_, n_tokens);
    drop(ends_, n_tokens);
    drop(first_tops_, n_tokens);
    drop(top_, n_top);
    for (size_t &first : first_tops_) first -= n_top;
    for (Record &record : records_) {
        record.text_end -= first_text_;
        record.first_token -= n_tokens;
        record.tokens_end -= n_tokens;
    }
    n_assigned_ -= n_tokens;
    if (dropped_ < SIZE_MAX) dropped_ -= n_tokens;
    first_ = first_text_ = 0;
}

bool EventQueue::take(Event &out) {
    compact();
    if (first_ == records_.size()) {
        out = {};
        return false;
    }
    const Record &record = records_[first_++];
    for (size_t i = record.first_token; i < record.tokens_end; i++)
        tokens_[i].top = top_.data() + first_tops_[i];
    out = event(record, first_text_);
    first_text_ = record.text_end;
    return true;
}

} // namespace ggufx::generate
