// SPDX-License-Identifier: MIT
#include "eval/chunks.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

void Chunks::copy(int32_t *out, size_t index) const {
    memcpy(out, tokens + index * step(), n_context * sizeof *out);
    if (bos >= 0) out[0] = bos;
}

Status check_chunks(const Session &session, const Chunks &text, Failure *failure) {
    if (session.length(0) != 0) {
        return set_failure(failure, Status::state, {},
                           "the session holds %" PRIu64 " tokens, it must be empty",
                           session.length(0));
    }
    if (text.n_context < 4 || text.n_context > session.n_context()) {
        return set_failure(failure, Status::argument, {},
                           "n_context is %" PRIu32 ", the session allows 4 to %" PRIu32,
                           text.n_context, session.n_context());
    }
    if (text.n_tokens < text.n_context) {
        return set_failure(failure, Status::argument, {},
                           "%" PRIu64 " tokens are fewer than one chunk of %" PRIu32,
                           static_cast<uint64_t>(text.n_tokens), text.n_context);
    }
    if (text.stride >= text.n_context) {
        return set_failure(failure, Status::argument, {},
                           "the stride is %" PRIu32 ", a chunk has %" PRIu32 " tokens", text.stride,
                           text.n_context);
    }
    const uint64_t n_vocab = session.model().shape().n_vocab;
    if (text.bos < -1 || (text.bos >= 0 && static_cast<uint64_t>(text.bos) >= n_vocab)) {
        return set_failure(failure, Status::argument, {},
                           "bos is %" PRId32 ", the vocabulary has %" PRIu64 " tokens", text.bos,
                           n_vocab);
    }
    return session.check_ids(text.tokens, text.n_tokens, failure);
}

} // namespace ggufx::model
