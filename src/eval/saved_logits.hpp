// Saved logits of scored predictions: a header with the model, vocabulary and chunks. Then per
// chunk a checksum of its tokens, its rows, and a checksum of all preceding bytes
// (docs/file-formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"
#include "eval/perplexity.hpp"

namespace ggufx::model {

struct SavedHead {
    uint32_t n_vocab = 0, n_context = 0, stride = 0;
    int32_t bos = 0;
    uint64_t n_chunks = 0, model = 0, vocabulary = 0;
};
SavedHead head_of(const Session &session, const Chunks &text);

// A row of logits; logit i is codes[i] * step below the largest one.
struct SavedRow {
    double loss = 0.0; // for the actual next token
    float step = 0.0f;
    uint32_t top = 0; // most likely token
    uint16_t *codes = nullptr;
};
constexpr size_t kRowHead = 16; // bytes

// Packs a row into [16 + 2 * n_vocab] bytes. Returns false if a logit is not finite. Needs
// CanonicalFp.
bool pack_row(uint8_t *out, const float *logits, size_t n_vocab, double loss);

class LogitsWriter final : public ScoredRows {
public:
    // Throws std::bad_alloc.
    LogitsWriter(const Session &session, const Chunks &text, WriteFn write, void *user);
    Status begin(Failure *failure);
    Status begin_chunk(const int32_t *tokens, Failure *failure) override;
    Status rows(const float *logits, size_t n, const int32_t *next, const double *losses,
                Failure *failure) override;
    Status end_chunk(Failure *failure) override;

private:
    Status status(Failure *failure) const;

    const Model &model_;
    const SavedHead head_;
    SnapshotOutput out_;
    Vector<uint8_t> bytes_; // for kGroup rows
};

class LogitsReader {
public:
    // first_chunk: index of the saved chunk that the text begins with. Throws std::bad_alloc.
    LogitsReader(const Session &session, const Chunks &text, uint64_t first_chunk,
                 const Reader &reader);
    Status begin(const Progress &progress, Failure *failure); // reads up to the first chunk
    Status begin_chunk(const int32_t *tokens, Failure *failure);
    // Reads n rows, with codes [n][n_vocab]; n at most kGroup.
    Status rows(SavedRow *out, size_t n, Failure *failure);
    Status end_chunk(Failure *failure);
    Status end(); // fails if data follow the last chunk
    bool same_model() const { return same_model_; }

private:
    Status read_failed(Failure *failure) const;
    Status check(const SavedHead &head, Failure *failure);
    Status pass_chunk(Failure *failure);

    const SavedHead head_; // expected header
    const uint64_t first_chunk_;
    const size_t n_scored_; // in a chunk
    const Reader reader_;
    SnapshotInput in_;
    Vector<uint8_t> bytes_;
    uint64_t n_saved_ = 0, n_done_ = 0; // chunks
    bool same_model_ = false;
};

} // namespace ggufx::model
