// Merging by score, the algorithm of sentencepiece's BPE: the characters of a text, joined pair by
// pair, the best-scored token first.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/vocab.hpp"

namespace ggufx::model {

// Append the ids of `text`, whose spaces are U+2581 already. Throws Error (vocab: a byte that has
// no token) / std::bad_alloc. O(n log n).
void merge_by_score(Vector<int32_t> &ids, const Vocab &vocab, std::string_view text);

} // namespace ggufx::model
