// Grammars of one request, from the cache or compiled. Steps and memory of all of them together are
// limited by the bytes of its schemas. A grammar from the cache counts as if it had been compiled,
// so a request always meets the limits in the same way.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/grammar_cache.hpp"

#include <map>

namespace ggufx::cli {

class SchemaCompiler {
public:
    static constexpr uint64_t kMemory = 16u << 20, kMemoryPerByte = 16;
    static constexpr uint64_t kSteps = 100'000'000, kStepsPerByte = 500;

    // `n_bytes`: bytes of all schemas of the request. `flags`: GGUFX_GRAMMAR_* flags of all.
    SchemaCompiler(GrammarCache &cache, const ggufx_tokenizer *tokenizer, uint64_t asker,
                   uint32_t flags, uint64_t n_bytes)
        : cache_(cache), tokenizer_(tokenizer), asker_(asker), flags_(flags), n_bytes_(n_bytes) {
        cache_.trim();
    }
    SchemaCompiler(const SchemaCompiler &) = delete;
    SchemaCompiler &operator=(const SchemaCompiler &) = delete;

    struct Place {
        const char *param;    // field of the request
        std::string function; // name of a tool's function; may be empty
    };
    // Throws ApiError about a place: 400 if the schema cannot become a grammar, or beyond the limits
    // with code kTooMuch; 503 without memory.
    SharedGrammar of_schema(const std::string &text, const Place &place);
    static constexpr const char *kTooMuch = "too_much_work";

private:
    SharedGrammar compile(const std::string &text, const Place &place);
    Grammar create(const std::string &text, GrammarMemory &memory, const ggufx_runtime *runtime,
                   const Place &place);
    void count(const CompiledGrammar &grammar, const Place &place);
    [[noreturn]] void refuse(const Place &place, const char *what, uint64_t constant,
                             uint64_t per_byte) const;
    [[noreturn]] void refuse_steps(const Place &place) const;
    [[noreturn]] void refuse_memory(const Place &place) const;
    uint64_t most_memory() const { return kMemory + n_bytes_ * kMemoryPerByte; }
    uint64_t most_steps() const { return kSteps + n_bytes_ * kStepsPerByte; }
    static int32_t report(void *user, uint64_t done, uint64_t total);

    GrammarCache &cache_;
    const ggufx_tokenizer *const tokenizer_;
    const uint64_t asker_;
    const uint32_t flags_;
    const uint64_t n_bytes_;
    std::map<std::string_view, SharedGrammar> found_; // by their texts
    uint64_t n_memory_ = 0, n_steps_ = 0;             // sums over the grammars so far
    uint64_t n_done_ = 0;                             // steps of the current compilation
};

} // namespace ggufx::cli
