// SPDX-License-Identifier: MIT
#include "generate/text.hpp"

namespace ggufx::generate {

namespace {

constexpr size_t kPieceBytes = 256; // more than most tokens have

} // namespace

Text::Text(const Ref<Host> &host, const Options &options)
    : host_(host), tokenizer_(options.tokenizer), shows_special_(options.shows_special),
      held_(HostAllocator<char>(host.get())), specials_(HostAllocator<Special>(host.get())),
      strays_(host.get()), whole_(HostAllocator<char>(host.get())) {
    if (options.n_stops) stop_.emplace(host.get(), options.stops, options.n_stops);
    held_.reserve(kPieceBytes);
    whole_.reserve(kPieceBytes);
}

Text::Text(const Text &other)
    : host_(other.host_), tokenizer_(other.tokenizer_), shows_special_(other.shows_special_),
      stop_(other.stop_), held_(other.held_.get_allocator()),
      specials_(other.specials_.get_allocator()), strays_(host_.get()),
      whole_(other.whole_.get_allocator()) {}

uint64_t Text::bytes() const {
    return held_.capacity() + whole_.capacity() + specials_.capacity() * sizeof(Special);
}

void Text::begin(const Format *format) {
    if (stop_) stop_->reset();
    state_ = {};
    utf8_ = {};
    held_.clear();
    first_ = 0;
    specials_.clear();
    strays_.clear();
    n_shown_ = n_unsearched_ = 0;
    is_hidden_ = false;
    reasons_ = false;
    format_ = format;
    parser_.reset();
    if (format) parser_ = format->parser({this, on_output});
}

TokenUse Text::use(int32_t id) const {
    if (parser_) return format_->use(id);
    if (format_) return TokenUse::text; // the parser was left
    const model::Token &token = tokenizer_->vocab()[static_cast<size_t>(id)];
    const bool special = token.ends || token.kind == model::TokenKind::control ||
                         token.kind == model::TokenKind::unknown;
    return special && !shows_special_ ? TokenUse::hidden : TokenUse::text;
}

bool Text::ends(int32_t id) const {
    return tokenizer_ && (tokenizer_->vocab()[static_cast<size_t>(id)].ends ||
                          (parser_ && format_->use(id) == TokenUse::end));
}

bool Text::reads(int32_t id) const {
    return parser_ && format_->reads_ends() && format_->use(id) == TokenUse::marker;
}

// Appends the bytes of a token to held_, or with `last` those of a character that stays incomplete.
void Text::append(const int32_t *id, bool last) {
    model::DetokenizeOptions options;
    options.keep_special = format_ || stop_ || shows_special_;
    options.keep_space = options.whole_characters = true;
    const size_t n_before = held_.size();
    size_t room = kPieceBytes;
    for (;;) {
        held_.resize(n_before + room);
        model::DetokenizeState after = state_;
        const size_t n = tokenizer_->detokenize(held_.data() + n_before, room, id, id ? 1 : 0,
                                                options, after, last);
        held_.resize(n_before + (n < room ? n : room));
        if (n > room) {
            room = n;
            continue;
        }
        state_ = after;
        return;
    }
}

void Text::add(int32_t id) {
    if (!tokenizer_) return;
    const size_t n_before = held_.size();
    append(&id, false);
    n_new_ = held_.size() - n_before;
    is_hidden_ = false;
    const TokenUse use = this->use(id);
    if (use == TokenUse::text || n_new_ == 0) return;
    // Bytes of a character that it breaks off come before its own.
    const size_t length = tokenizer_->vocab()[static_cast<size_t>(id)].length;
    const uint64_t end = n_bytes();
    specials_.push_back({end - (length < n_new_ ? length : n_new_), end, use});
}

void Text::show(EventQueue *queue) {
    queue_ = queue;
    if (!tokenizer_) return tell(EventKind::text, 0, {});
    if (!stop_) return show_held(n_held());
    if (n_new_ == 0) return;
    stop_->feed({held_.data() + held_.size() - n_new_, n_new_});
    show_held(static_cast<size_t>(n_unsearched_ + stop_->n_shown() - n_shown_));
    if (found_stop() < 0) return;
    if (queue_) queue_->drop_tokens(n_shown_);
    held_.clear();
    first_ = 0;
    specials_.clear();
}

void Text::show_all(EventQueue *queue) {
    queue_ = queue;
    n_unsearched_ += n_new_;
    show_held(n_held());
}

std::string_view Text::hide() {
    is_hidden_ = true;
    n_unsearched_ += n_new_;
    whole_.assign(held_.end() - static_cast<ptrdiff_t>(n_new_), held_.end());
    specials_.clear();
    release(n_held(), TokenUse::hidden);
    return {whole_.data(), whole_.size()};
}

void Text::leave_parser() {
    if (!parser_) return;
    parser_.reset();
    reasons_ = false;
}

OutputSink Text::call_sink(EventQueue *queue) {
    queue_ = queue;
    return {this, on_output};
}

// Moves held bytes on. A special token is shown as a whole or not at all.
void Text::show_held(size_t n) {
    uint64_t end = n_shown_ + n;
    for (const Special &special : specials_)
        if (special.begin < end && end < special.end) end = special.begin;
    size_t n_done = 0;
    while (n_done < specials_.size() && specials_[n_done].end <= end) {
        const Special special = specials_[n_done++];
        release(static_cast<size_t>(special.begin - n_shown_), TokenUse::text);
        release(static_cast<size_t>(special.end - n_shown_), special.use);
    }
    specials_.erase(specials_.begin(), specials_.begin() + static_cast<ptrdiff_t>(n_done));
    release(static_cast<size_t>(end - n_shown_), TokenUse::text);
}

void Text::release(size_t n, TokenUse use) {
    if (n == 0) return;
    n_shown_ += n;
    first_ += n;
    const std::string_view text(held_.data() + first_ - n, n);
    if (use == TokenUse::marker && format_ && !format_->keeps_reasoning()) strays_.expect(text);
    if (use == TokenUse::text || use == TokenUse::marker) put(text);
    if (use == TokenUse::marker) strays_.settle();
    if (2 * first_ < held_.size()) return;
    held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(first_));
    first_ = 0;
}

void Text::put(std::string_view text) {
    if (parser_) return parser_->feed(text);
    whole_.clear();
    utf8_.feed(text, [&](std::string_view part) {
        whole_.insert(whole_.end(), part.begin(), part.end());
    });
    if (!whole_.empty()) tell(EventKind::text, 0, {whole_.data(), whole_.size()});
}

void Text::close_reasoning(Vector<int32_t> &out, bool alone) const {
    const std::string_view close = parser_->reasoning_close();
    Vector<char> text(close.begin(), close.end(), whole_.get_allocator());
    // The marker is a token alone if channels separate reasoning from the answer.
    if (!alone && !format_->reads_ends()) text.insert(text.end(), 2, '\n');
    model::TokenizeOptions options;
    options.parse_special = true;
    model::Ids ids(host_.get());
    tokenizer_->tokenize(ids, {text.data(), text.size()}, options);
    for (size_t i = 0; i < ids.size(); i++) out.push_back(ids[i]);
}

void Text::finish(EventQueue *queue) {
    queue_ = queue;
    if (!tokenizer_) return;
    if (found_stop() < 0 && !is_hidden_) append(nullptr, true);
    show_held(n_held());
    if (parser_) return parser_->finish();
    utf8_.finish([&](std::string_view part) { tell(EventKind::text, 0, part); });
}

void Text::tell(EventKind kind, uint32_t index, std::string_view text) {
    reasons_ = kind == EventKind::reasoning;
    if (!queue_) return;
    Event event;
    event.kind = kind;
    event.index = index;
    event.text = text;
    queue_->add(event, tokenizer_ ? n_shown_ : UINT64_MAX);
}

void Text::on_output(void *user, uint32_t kind, uint64_t call, std::string_view text) {
    Text &self = *static_cast<Text *>(user);
    if (self.has_only_call()) return; // later text is no part of the output
    const auto of = static_cast<EventKind>(kind);
    if (of == EventKind::text || of == EventKind::reasoning)
        text = self.strays_.without(text);
    else
        self.strays_.clear();
    if (!text.empty()) self.tell(of, static_cast<uint32_t>(call), text);
}

} // namespace ggufx::generate
