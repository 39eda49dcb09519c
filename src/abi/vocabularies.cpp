// Compares the vocabularies of two models.
// SPDX-License-Identifier: MIT
#include "abi/model_handles.hpp"

#include <inttypes.h>

using namespace ggufx;

namespace {

// Iterates over the token texts of a file's vocabulary; a file without a vocabulary has none.
class Texts {
public:
    explicit Texts(const gguf::File &file)
        : file_(file), index_(file.find_meta("tokenizer.ggml.tokens")) {
        if (index_ == gguf::kNotFound) return;
        const gguf::MetaEntry entry = file.meta(index_);
        if (entry.type == gguf::ValueType::array && entry.element == gguf::ValueType::string)
            n_ = entry.count;
    }
    uint64_t n() const { return n_; }
    std::string_view next() { return file_.next_array_string(index_, &at_); }

private:
    const gguf::File &file_;
    size_t index_;
    uint64_t n_ = 0, at_ = 0;
};

// Throws if token ids may have different meanings in the two models.
} // namespace

void ggufx::abi::check_vocabularies(const model::Model &a, const model::Model &b) {
    if (a.shape().n_vocab != b.shape().n_vocab)
        fail(Status::mismatch, {}, "the vocabularies have %" PRIu64 " and %" PRIu64 " tokens",
             a.shape().n_vocab, b.shape().n_vocab);
    Texts of_a(a.file()), of_b(b.file());
    if (of_a.n() != of_b.n())
        fail(Status::mismatch, {},
             "%" PRIu64 " tokens of one vocabulary have text, %" PRIu64 " of the other", of_a.n(),
             of_b.n());
    for (uint64_t i = 0; i < of_a.n(); i++)
        if (of_a.next() != of_b.next())
            fail(Status::mismatch, {.index = i},
                 "token %" PRIu64 " has another text in the vocabulary of the draft model", i);
}
