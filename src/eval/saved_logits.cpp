// SPDX-License-Identifier: MIT
#include "eval/saved_logits.hpp"

#include "base/math.hpp"
#include "run/rows.hpp"

#include <algorithm>
#include <bit>
#include <inttypes.h>
#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr char kLogitsMagic[9] = "GGUFXLG\n";
constexpr uint32_t kLogitsVersion = 1;
constexpr float kMostCode = 65535.0f;

void store_u64(uint8_t *out, uint64_t v) {
    store_u32le(out, static_cast<uint32_t>(v));
    store_u32le(out + 4, static_cast<uint32_t>(v >> 32));
}

uint64_t load_u64(const uint8_t *from) {
    return load_u32le(from) | static_cast<uint64_t>(load_u32le(from + 4)) << 32;
}

// Returns a checksum of the vocabulary's texts: ids mean the same if these are equal.
uint64_t vocabulary_of(const gguf::File &file) {
    const size_t index = file.find_meta("tokenizer.ggml.tokens");
    if (index == gguf::kNotFound) return 0;
    const gguf::MetaEntry entry = file.meta(index);
    if (entry.type != gguf::ValueType::array || entry.element != gguf::ValueType::string) return 0;
    uint64_t crc = 0, at = 0;
    for (uint64_t i = 0; i < entry.count; i++) {
        const std::string_view text = file.next_array_string(index, &at);
        uint8_t length[8];
        store_u64(length, text.size());
        crc = crc64(crc64(crc, length, sizeof length), text.data(), text.size());
    }
    return crc;
}

uint64_t checksum_of(const int32_t *tokens, size_t n) {
    uint64_t crc = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[4];
        store_u32le(bytes, static_cast<uint32_t>(tokens[i]));
        crc = crc64(crc, bytes, sizeof bytes);
    }
    return crc;
}

// Reads a row. Codes need no check for memory safety, but must have a largest logit and a possible
// loss.
bool unpack_row(SavedRow &out, const uint8_t *from, size_t n_vocab) {
    out.loss = std::bit_cast<double>(load_u64(from));
    out.step = std::bit_cast<float>(load_u32le(from + 8));
    out.top = load_u32le(from + 12);
    for (size_t i = 0; i < n_vocab; i++)
        out.codes[i] =
            static_cast<uint16_t>(from[kRowHead + 2 * i] | from[kRowHead + 2 * i + 1] << 8);
    // A loss is at most the distance from the most to the least likely token, plus the logarithm of
    // their number: 22.2 for 2^32.
    const double most = double{out.step} * kMostCode * (1.0 + 0x1p-20) + 23.0;
    return isfinite(out.step) && out.step >= 0.0f && out.loss >= 0.0 && out.loss <= most &&
           out.top < n_vocab && out.codes[out.top] == 0;
}

} // namespace

SavedHead head_of(const Session &session, const Chunks &text) {
    const Model &model = session.model();
    SavedHead head;
    head.n_vocab = static_cast<uint32_t>(model.shape().n_vocab);
    head.n_context = text.n_context;
    head.stride = text.stride;
    head.bos = text.bos;
    head.n_chunks = text.count();
    head.model = session.identity(0);
    head.vocabulary = vocabulary_of(model.file());
    return head;
}

bool pack_row(uint8_t *out, const float *logits, size_t n_vocab, double loss) {
    float largest = logits[0], least = logits[0];
    uint32_t top = 0;
    for (size_t i = 1; i < n_vocab; i++) {
        if (logits[i] > largest) top = static_cast<uint32_t>(i);
        largest = std::max(largest, logits[i]);
        least = std::min(least, logits[i]);
    }
    const float step = (largest - least) / kMostCode;
    if (!isfinite(largest) || !isfinite(least) || !isfinite(step)) return false;
    store_u64(out, std::bit_cast<uint64_t>(loss));
    store_u32le(out + 8, std::bit_cast<uint32_t>(step));
    store_u32le(out + 12, top);
    for (size_t i = 0; i < n_vocab; i++) {
        const double steps =
            step > 0.0f ? static_cast<double>(largest - logits[i]) / static_cast<double>(step)
                        : 0.0;
        const auto code = static_cast<uint32_t>(std::min(steps + 0.5, 65535.0));
        out[kRowHead + 2 * i] = static_cast<uint8_t>(code);
        out[kRowHead + 2 * i + 1] = static_cast<uint8_t>(code >> 8);
    }
    return true;
}

LogitsWriter::LogitsWriter(const Session &session, const Chunks &text, WriteFn write, void *user)
    : model_(session.model()), head_(head_of(session, text)), out_(write, user),
      bytes_(kScoredGroup * (kRowHead + 2 * size_t{head_.n_vocab}),
             HostAllocator<uint8_t>(model_.host().get())) {}

Status LogitsWriter::status(Failure *failure) const {
    if (out_.status() == Status::ok) return Status::ok;
    return set_failure(failure, out_.status(), {}, "the write callback of logits failed");
}

Status LogitsWriter::begin(Failure *failure) {
    out_.bytes(kLogitsMagic, 8);
    out_.u32(kLogitsVersion);
    out_.u32(head_.n_vocab);
    out_.u32(head_.n_context);
    out_.u32(head_.stride);
    out_.i32(head_.bos);
    out_.u64(head_.n_chunks);
    out_.u64(head_.model);
    out_.u64(head_.vocabulary);
    out_.checksum();
    return status(failure);
}

Status LogitsWriter::begin_chunk(const int32_t *tokens, Failure *failure) {
    out_.u64(checksum_of(tokens, head_.n_context));
    return status(failure);
}

Status LogitsWriter::rows(const float *logits, size_t n, const int32_t *, const double *losses,
                          Failure *failure) {
    const size_t n_vocab = head_.n_vocab, row_bytes = kRowHead + 2 * n_vocab;
    bool good[kScoredGroup] = {};
    const Status status = for_rows(*model_.host(), n, 4 * n_vocab, [&](size_t i) {
        good[i] = pack_row(bytes_.data() + i * row_bytes, logits + i * n_vocab, n_vocab, losses[i]);
    });
    if (status != Status::ok) return set_failure(failure, status, {}, "the executor failed");
    for (size_t i = 0; i < n; i++)
        if (!good[i])
            return set_failure(failure, Status::value, {}, "the model computed an infinite logit");
    out_.bytes(bytes_.data(), n * row_bytes);
    return this->status(failure);
}

Status LogitsWriter::end_chunk(Failure *failure) {
    out_.checksum();
    return status(failure);
}

LogitsReader::LogitsReader(const Session &session, const Chunks &text, uint64_t first_chunk,
                           const Reader &reader)
    : head_(head_of(session, text)), first_chunk_(first_chunk), n_scored_(text.n_scored()),
      reader_(reader), in_({reader.read, reader.user, nullptr}),
      bytes_(kScoredGroup * (kRowHead + 2 * size_t{head_.n_vocab}),
             HostAllocator<uint8_t>(session.model().host().get())) {}

Status LogitsReader::read_failed(Failure *failure) const {
    return set_failure(failure, in_.status(), {}, "the read callback of saved logits failed");
}

Status LogitsReader::begin(const Progress &progress, Failure *failure) {
    char magic[8] = {};
    in_.bytes(magic, sizeof magic);
    const uint32_t version = in_.u32();
    SavedHead head;
    head.n_vocab = in_.u32();
    head.n_context = in_.u32();
    head.stride = in_.u32();
    head.bos = in_.i32();
    head.n_chunks = in_.u64();
    head.model = in_.u64();
    head.vocabulary = in_.u64();
    const bool whole = in_.checksum();
    if (in_.status() != Status::ok) return read_failed(failure);
    if (memcmp(magic, kLogitsMagic, sizeof magic) != 0)
        return set_failure(failure, Status::magic, {}, "these are not saved logits");
    if (version != kLogitsVersion)
        return set_failure(failure, Status::version, {},
                           "saved logits of version %" PRIu32 ", not %" PRIu32, version,
                           kLogitsVersion);
    if (!whole)
        return set_failure(failure, Status::checksum, {}, "the header of saved logits is damaged");
    Status status = check(head, failure);
    for (uint64_t i = 0; i < first_chunk_ && status == Status::ok; i++) {
        if (progress.cancelled(0, head_.n_chunks * head_.n_context))
            return set_failure(failure, Status::cancelled, {}, "cancelled before the first chunk");
        status = pass_chunk(failure);
    }
    return status;
}

// Skips a chunk; the checksum of the preceding bytes confirms its contents.
Status LogitsReader::pass_chunk(Failure *failure) {
    const size_t row_bytes = kRowHead + 2 * size_t{head_.n_vocab};
    (void)in_.u64();
    for (size_t row = 0, n; row < n_scored_; row += n) {
        n = std::min(kScoredGroup, n_scored_ - row);
        if (!in_.bytes(bytes_.data(), n * row_bytes)) return read_failed(failure);
    }
    return end_chunk(failure);
}

Status LogitsReader::check(const SavedHead &head, Failure *failure) {
    if (head.n_vocab != head_.n_vocab || head.vocabulary != head_.vocabulary)
        return set_failure(failure, Status::mismatch, {},
                           "the saved logits are of a vocabulary of %" PRIu32
                           " tokens, but the model's has %" PRIu32,
                           head.n_vocab, head_.n_vocab);
    if (head.n_context != head_.n_context || head.stride != head_.stride || head.bos != head_.bos)
        return set_failure(failure, Status::mismatch, {},
                           "the saved logits are of chunks of %" PRIu32 " tokens, stride %" PRIu32
                           ", first token %" PRId32 ", not %" PRIu32 ", %" PRIu32 ", %" PRId32,
                           head.n_context, head.stride, head.bos, head_.n_context, head_.stride,
                           head_.bos);
    if (head.n_chunks < first_chunk_ || head.n_chunks - first_chunk_ < head_.n_chunks)
        return set_failure(failure, Status::mismatch, {},
                           "logits of %" PRIu64 " chunks were saved, but %" PRIu64
                           " from number %" PRIu64 " on are requested",
                           head.n_chunks, head_.n_chunks, first_chunk_);
    n_saved_ = head.n_chunks;
    same_model_ = head.model == head_.model;
    return Status::ok;
}

Status LogitsReader::begin_chunk(const int32_t *tokens, Failure *failure) {
    const uint64_t saved = in_.u64();
    if (in_.status() != Status::ok) return read_failed(failure);
    if (saved == checksum_of(tokens, head_.n_context)) return Status::ok;
    return set_failure(failure, Status::mismatch, {.index = n_done_ - first_chunk_},
                       "the saved logits of a chunk are of other tokens");
}

Status LogitsReader::rows(SavedRow *out, size_t n, Failure *failure) {
    const size_t row_bytes = kRowHead + 2 * size_t{head_.n_vocab};
    if (!in_.bytes(bytes_.data(), n * row_bytes)) return read_failed(failure);
    for (size_t i = 0; i < n; i++)
        if (!unpack_row(out[i], bytes_.data() + i * row_bytes, head_.n_vocab))
            return set_failure(
                failure, Status::malformed, {},
                "a row of saved logits has an invalid most likely token, step or loss");
    return Status::ok;
}

Status LogitsReader::end_chunk(Failure *failure) {
    const bool whole = in_.checksum();
    if (in_.status() != Status::ok) return read_failed(failure);
    if (!whole) return set_failure(failure, Status::checksum, {}, "the saved logits are damaged");
    n_done_++;
    return Status::ok;
}

Status LogitsReader::end() {
    return n_done_ == n_saved_ && reader_.ended ? reader_.ended(reader_.user) : Status::ok;
}

} // namespace ggufx::model
