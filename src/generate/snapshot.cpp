// Snapshots of generators: tokens, the state of the sampler, and what was not polled. The rest
// follows from the tokens. docs/file-formats.md describes the bytes.
// SPDX-License-Identifier: MIT
#include "base/crc64.hpp"
#include "base/utf8.hpp"
#include "generate/generator.hpp"
#include "generate/step.hpp"

#include <inttypes.h>
#include <math.h>

#include <algorithm>
#include <bit>

namespace ggufx::generate {

namespace {

constexpr char kMagic[8] = {'G', 'G', 'U', 'F', 'X', 'G', 'N', '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kToldPrompt = 1, kMarks = 2, kHasFormat = 4, kCancelled = 8, kAllFlags = 15;

void put(SnapshotOutput &out, float value) {
    out.u32(std::bit_cast<uint32_t>(value));
}

void put(SnapshotOutput &out, const Event &event, const EventQueue &queue, size_t first_token) {
    out.u32(static_cast<uint32_t>(event.kind));
    out.u32(static_cast<uint32_t>(event.end));
    out.i32(static_cast<int32_t>(event.status));
    out.u32(event.index);
    out.u64(event.text.size());
    out.bytes(event.text.data(), event.text.size());
    out.u64(event.n_tokens);
    for (size_t i = 0; i < event.n_tokens; i++) {
        const EventToken token = queue.token(first_token + i);
        out.i32(token.id);
        put(out, token.logprob);
        out.u64(token.offset);
        out.u64(event.kind == EventKind::none ? queue.token_end(first_token + i) : 0);
        out.u32(static_cast<uint32_t>(token.n_top));
        for (size_t j = 0; j < token.n_top; j++) {
            out.i32(token.top[j].id);
            put(out, token.top[j].logprob);
        }
    }
}

[[noreturn]] void refuse(const char *what) {
    fail(Status::malformed, {}, "the snapshot of a generator: %s", what);
}

void check(bool condition, const char *what) {
    if (!condition) refuse(what);
}

} // namespace

// ---- save

Status Generator::save(SnapshotOutput &out, Failure *failure) const {
    require_idle();
    if (is_appended_)
        fail(Status::unsupported, {},
             "the prompt follows removed or shifted tokens, which cannot be computed again");
    if (format_ && !format_->is_restorable())
        fail(Status::unsupported, {},
             "a ggufx_chat_prompt: only generators of other prompts can be saved");
    out.bytes(kMagic, sizeof kMagic);
    out.u32(kVersion);
    out.u32((has_told_prompt_ ? kToldPrompt : 0) | (marks_ ? kMarks : 0) |
            (format_ ? kHasFormat : 0) | (is_cancelled() ? kCancelled : 0));
    out.u64(session_.model().identity());
    out.u64(fingerprint_);
    for (const uint64_t n : {uint64_t{n_prompt_}, uint64_t{n_reused_}, uint64_t{n_scored_},
                             uint64_t{tokens_.size()}, uint64_t{tokens_.rows.size()}})
        out.u64(n);
    for (const int32_t id : tokens_.ids) out.i32(id);
    out.bytes(tokens_.modes.data(), tokens_.modes.size());
    for (const float value : tokens_.rows) put(out, value);
    const sampling::Chain::State sampler = sampler_.state();
    out.u64(sampler.random);
    out.u64(std::bit_cast<uint64_t>(sampler.mu));
    out.u32(static_cast<uint32_t>(end_));
    out.i32(static_cast<int32_t>(last_.status));
    out.u32(last_.index);
    out.u64(drafts_ ? drafts_->n_drafted() : 0);
    out.u64(drafts_ ? drafts_->n_accepted() : 0);
    out.u64(std::bit_cast<uint64_t>(sum_logprobs_));
    FormatTexts texts;
    if (format_) texts = {format_->prompt_end(), format_->begun(), format_->tools()};
    for (const std::string_view text : {texts.prompt_end, texts.begun, texts.tools}) {
        out.u64(text.size());
        out.bytes(text.data(), text.size());
    }
    out.u64(queue_.n_events());
    // The waiting tokens come last, as an event without a kind.
    queue_.each([&](const Event &event, size_t first) { put(out, event, queue_, first); });
    out.checksum();
    if (out.status() == Status::ok) return Status::ok;
    return set_failure(failure, out.status(), {}, "the write callback of a snapshot failed");
}

// ---- load

// Reads the parts of a snapshot and checks each number. Throws Error / std::bad_alloc.
class Generator::Reading {
public:
    Reading(SnapshotInput &in, const Host *host) : in_(in), host_(host) {}

    void require_ok() const {
        if (in_.status() == Status::ok) return;
        if (in_.status() == Status::truncated)
            fail(Status::truncated, {}, "the snapshot of a generator is truncated");
        fail(in_.status(), {}, "the read callback of a snapshot failed");
    }
    uint32_t u32() {
        const uint32_t out = in_.u32();
        require_ok();
        return out;
    }
    uint64_t u64() {
        const uint64_t out = in_.u64();
        require_ok();
        return out;
    }
    float number() {
        const auto out = std::bit_cast<float>(u32());
        check(!isnan(out), "a number is NaN");
        return out;
    }
    size_t count(uint64_t most, const char *what) {
        const uint64_t n = u64();
        check(n <= most, what);
        return static_cast<size_t>(n);
    }
    // Reads bytes in pieces, so that a false length takes no more memory than there is data.
    template <class T> void bytes(Vector<T> &out, uint64_t n) {
        constexpr uint64_t kPiece = 65536;
        out.clear();
        while (n > 0) {
            const auto part = static_cast<size_t>(std::min(n, kPiece));
            out.resize(out.size() + part);
            in_.bytes(out.data() + out.size() - part, part);
            require_ok();
            n -= part;
        }
    }
    Vector<char> any_text() {
        Vector<char> out{HostAllocator<char>(host_)};
        bytes(out, u64());
        return out;
    }
    Vector<char> text() {
        const Vector<char> out = any_text();
        const std::string_view view(out.data(), out.size());
        check(first_invalid(view) == view.size(), "a text is not UTF-8");
        return out;
    }
    int32_t id(uint64_t n_vocab) {
        const uint32_t out = u32();
        check(out < n_vocab, "a token is not in the vocabulary");
        return static_cast<int32_t>(out);
    }
    void finish() {
        const bool same = in_.checksum();
        require_ok();
        if (!same) fail(Status::checksum, {}, "the snapshot of a generator has another checksum");
    }

    void head(uint64_t identity, uint64_t fingerprint) {
        char magic[sizeof kMagic] = {};
        in_.bytes(magic, sizeof magic);
        require_ok();
        if (memcmp(magic, kMagic, sizeof magic) != 0)
            fail(Status::magic, {}, "the data is no snapshot of a generator");
        const uint32_t version = u32();
        if (version != kVersion)
            fail(Status::version, {},
                 "the snapshot has version %" PRIu32 ", this library reads %" PRIu32, version,
                 kVersion);
        flags = u32();
        check(flags <= kAllFlags, "unknown flags");
        if (u64() != identity)
            fail(Status::mismatch, {}, "the snapshot is of a generator of another model");
        if (u64() != fingerprint)
            fail(Status::mismatch, {}, "the snapshot is of a generator with other options");
    }
    void tokens(Tokens &out, const model::Session &session) {
        const model::Shape &shape = session.model().shape();
        n_prompt = count(session.n_context(), "its prompt is longer than the context");
        n_reused = count(n_prompt, "more reused tokens than the prompt has");
        n_scored = count(n_prompt, "more scores than the prompt has tokens");
        check(n_scored >= n_reused, "fewer scores than reused tokens");
        const size_t n = count(session.n_context() + uint64_t{1}, "it has more tokens than fit");
        const uint64_t n_rows = u64();
        check(n >= n_prompt && (n == 0) == (n_prompt == 0), "it has too few tokens");
        out.reserve(n);
        for (size_t i = 0; i < n; i++) out.ids.push_back(id(shape.n_vocab));
        bytes(out.modes, n);
        size_t n_embedded = 0;
        for (size_t i = 0; i < n; i++) {
            const uint8_t mode = out.modes[i];
            check(model::is_mode(mode), "a token has an unknown mode");
            n_embedded += (mode & model::kModeEmbedded) != 0;
            check(i < n_prompt || !(mode & model::kModeEmbedded),
                  "a token of the output has a row");
        }
        check(n_rows == uint64_t{n_embedded} * shape.n_embd, "it has another number of rows");
        for (uint64_t i = 0; i < n_rows; i++) {
            out.rows.push_back(number());
            check(isfinite(out.rows.back()), "a row is not finite");
        }
    }
    EventToken token(Vector<Logprob> &top, uint64_t n_vocab, uint32_t most, uint64_t *end) {
        EventToken out = {};
        out.id = id(n_vocab);
        out.logprob = number();
        out.offset = u64();
        *end = u64();
        out.n_top = u32();
        check(out.n_top <= most, "a token has too many alternatives");
        top.clear();
        for (size_t i = 0; i < out.n_top; i++) {
            const int32_t other = id(n_vocab);
            top.push_back({other, number()});
        }
        out.top = top.data();
        return out;
    }
    // Reads an event into the queue; without a kind: only its tokens, which wait for one.
    void event(EventQueue &queue, uint64_t n_vocab, uint32_t n_top, bool has_kind) {
        Event out;
        const uint32_t kind = u32(), end = u32();
        check(kind <= static_cast<uint32_t>(EventKind::tool_id) && (kind != 0) == has_kind,
              "an event has an unknown kind");
        check(end <= static_cast<uint32_t>(End::tool_call), "an event has an unknown end");
        out.kind = static_cast<EventKind>(kind);
        out.end = static_cast<End>(end);
        out.status = status();
        out.index = u32();
        const Vector<char> text = this->text();
        out.text = {text.data(), text.size()};
        Vector<Logprob> top{HostAllocator<Logprob>(host_)};
        for (uint64_t n = u64(); n > 0; n--) {
            uint64_t last = 0;
            const EventToken one = token(top, n_vocab, n_top, &last);
            queue.add_token(one, has_kind ? 0 : last);
        }
        if (has_kind) queue.add(out, 0);
    }
    Status status() {
        const auto out = static_cast<int32_t>(u32());
        check(out <= 0 && out >= -64, "an unknown status");
        return static_cast<Status>(out);
    }

    uint32_t flags = 0;
    size_t n_prompt = 0, n_reused = 0, n_scored = 0;

private:
    SnapshotInput &in_;
    const Host *host_;
};

void Generator::load(SnapshotInput &in, const FormatSource &formats) {
    require_idle();
    Reading read(in, host());
    read.head(session_.model().identity(), fingerprint_);
    Tokens tokens(host());
    read.tokens(tokens, session_);
    const sampling::Chain::State sampler = {read.u64(), std::bit_cast<double>(read.u64())};
    check(isfinite(sampler.mu), "the state of the sampler is not finite");
    const uint32_t end = read.u32();
    check(end <= static_cast<uint32_t>(End::tool_call), "it has an unknown end");
    last_.kind = EventKind::end;
    last_.end = static_cast<End>(end);
    last_.status = read.status();
    last_.index = read.u32();
    const uint64_t n_drafted = read.u64(), n_accepted = read.u64();
    check(n_accepted <= n_drafted, "more drafts were accepted than made");
    const auto sum_logprobs = std::bit_cast<double>(read.u64());
    check(!isnan(sum_logprobs), "its sum of log-probabilities is NaN");
    // The end of a prompt may begin within a character.
    const Vector<char> prompt_end = read.any_text(), begun = read.text(), tools = read.text();
    const uint64_t n_vocab = session_.model().shape().n_vocab;
    for (uint64_t n = read.u64(); n > 0; n--)
        read.event(queue_, n_vocab, options_.n_logprobs, true);
    read.event(queue_, n_vocab, options_.n_logprobs, false);
    read.finish();
    if (tokens.size() == 0) return;
    const size_t n_new = tokens.size() - read.n_prompt;
    check(!options_.max_tokens || n_new <= options_.max_tokens, "it has more than max_tokens");
    check(end || tokens.size() <= session_.n_context(), "it has more tokens than the context");
    if (read.flags & kHasFormat)
        format_ = formats.make(formats.user, {{prompt_end.data(), prompt_end.size()},
                                              {begun.data(), begun.size()},
                                              {tools.data(), tools.size()}});
    n_prompt_ = read.n_prompt;
    n_reused_ = read.n_reused;
    n_scored_ = read.n_scored;
    sum_logprobs_ = sum_logprobs;
    n_matched_ = n_new;
    tokens_ = std::move(tokens);
    const uint64_t most =
        options_.max_tokens ? n_prompt_ + uint64_t{options_.max_tokens} : UINT64_MAX;
    tokens_.reserve(static_cast<size_t>(std::min(most, session_.n_context() + uint64_t{1})));
    try {
        matcher_ = matcher_of(tokens_.size());
    } catch (const Error &error) {
        if (error.failure.status != static_cast<int32_t>(Status::value)) throw;
        fail(Status::mismatch, {}, "the output of the snapshot does not match the grammar");
    }
    restore_sampler(sampler);
    restart_text();
    if (drafts_) drafts_->set_counts(n_drafted, n_accepted);
    end_ = static_cast<End>(end);
    has_told_prompt_ = (read.flags & kToldPrompt) != 0;
    marks_ = (read.flags & kMarks) != 0;
    if (read.flags & kCancelled) cancel();
    cut(reusable(false));
}

} // namespace ggufx::generate
