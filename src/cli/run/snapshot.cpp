// SPDX-License-Identifier: MIT
#include "run/snapshot.hpp"

#include "common/f32_bytes.hpp"
#include "common/signals.hpp"
#include "common/text.hpp"

#include <algorithm>

namespace ggufx::cli {

void resume(const GeneratingModel &generation, const std::string &path) {
    ggufx_error why;
    const ggufx_status status =
        ggufx_session_load_file(generation.session(), 0, path.c_str(), &why);
    if (status != GGUFX_OK) {
        const Failure failure(exit_code(status), why);
        const bool is_named = status == GGUFX_E_IO; // the error names the file, or a rank
        throw is_named ? failure : Failure(failure, escape(path));
    }
    if (generation.n_held() == 0)
        throw Failure(kInvalidFile, escape(path) + ": the snapshot has no tokens");
}

// Computes the tokens that the session lacks, up to n_tokens, with the products of the generator.
// Writes the logits of each to `logits` unless that is NULL. Tokens after a signal are few, and
// complete a snapshot.
static void compute(const GeneratingModel &generation, uint64_t n_tokens, Output *logits) {
    constexpr size_t kRows = 64; // rows of logits in memory
    const ggufx_progress cancel = cancel_hook();
    const std::vector<int32_t> ids = generator_tokens(generation.generator());
    const uint64_t n_prompt = generation.facts().n_prompt;
    const size_t end = std::min<uint64_t>({n_tokens, ids.size(), generation.n_context()});
    std::vector<float> rows;
    for (size_t at = generation.n_held(), n = 0; at < end; at += n) {
        n = (at < n_prompt ? std::min(n_prompt, end) : end) - at;
        if (logits) n = std::min(n, kRows);
        rows.resize(logits ? n * model_facts(generation.model()).n_vocab : 0);
        const uint32_t products = at < n_prompt ? GGUFX_MATMUL_TILED : GGUFX_MATMUL_BATCH_INVARIANT;
        const ggufx_decode_item item =
            batch_item(0, logits ? GGUFX_DECODE_ALL_LOGITS : 0, std::span(ids).subspan(at, n));
        ggufx_decode_options options = batch_options(products, rows);
        options.progress = pending_signal() ? nullptr : &cancel;
        call([&](ggufx_error *error) {
            return ggufx_session_decode(generation.session(), &item, 1, &options, error);
        });
        if (logits) logits->write(f32_bytes(rows));
    }
}

static void truncate(const GeneratingModel &generation, uint64_t n_tokens) {
    if (generation.n_held() <= n_tokens) return;
    call([&](ggufx_error *error) {
        return ggufx_session_truncate(generation.session(), 0, n_tokens, error);
    });
}

void hold(const GeneratingModel &generation, uint64_t n_tokens) {
    truncate(generation, n_tokens);
    compute(generation, n_tokens, nullptr);
}

void write_logits(const GeneratingModel &generation, uint64_t first, Output &out) {
    const ggufx_generator_facts facts = generation.facts();
    truncate(generation, first);
    compute(generation, facts.n_prompt + facts.n_tokens - (facts.n_tokens > 0), &out);
}

void save(const GeneratingModel &generation, const std::string &path) {
    call([&](ggufx_error *error) {
        return ggufx_session_save_file(generation.session(), 0, path.c_str(), error);
    });
}

} // namespace ggufx::cli
