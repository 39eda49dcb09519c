// Byte-level BPE ("gpt2"): the pre-tokenizer splits a text into pieces. The bytes of each piece, as
// characters, are merged by rank.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/byte_map.hpp"
#include "tokenizer/encoder.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/rank_merger.hpp"

namespace ggufx::model {

class Bpe final : public Encoder {
public:
    // Throws Error (missing, vocab) / std::bad_alloc. Keeps a reference to the vocabulary.
    explicit Bpe(const Vocab &vocab);
    void encode(Ids &ids, std::string_view text, Controls controls) const override;

private:
    struct Work;
    void encode_piece(Ids &ids, Work &work, std::string_view piece, Controls controls) const;
    void encode_by_id(Ids &ids, Work &work, std::string_view piece, Controls controls) const;
    void merge(Work &work, std::string_view piece, Controls controls) const;
    std::string_view map(Vector<char> &out, std::string_view piece) const;
    void put_bytes(Ids &ids, std::string_view bytes, Controls controls) const;

    const Vocab &vocab_;
    Merges merges_;
    pre::PreTokenizer pre_;
    Alone alone_;
    bool ignore_merges_;
    struct Mapped {
        char text[2];
        uint8_t length;
        Symbol symbol;
    };
    Mapped mapped_[256];
};

} // namespace ggufx::model
