// SPDX-License-Identifier: MIT
#include "serve/schema_compiler.hpp"

#include "serve/model_host.hpp"
#include "serve/preparation.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

std::string named(const SchemaCompiler::Place &place) {
    return place.function.empty() ? std::string(place.param)
                                  : fmt::format("{}: function \"{}\"", place.param, place.function);
}

} // namespace

void SchemaCompiler::refuse(const Place &place, const char *what, uint64_t constant,
                            uint64_t per_byte) const {
    throw ApiError(
        400,
        fmt::format("{}: the grammars of the request take more than {} {} ({} and {} per "
                    "byte of the schemas): use fewer or simpler schemas",
                    named(place), constant + n_bytes_ * per_byte, what, constant, per_byte),
        place.param, kTooMuch);
}

void SchemaCompiler::refuse_steps(const Place &place) const {
    refuse(place, "steps to compile", kSteps, kStepsPerByte);
}

void SchemaCompiler::refuse_memory(const Place &place) const {
    refuse(place, "bytes of memory", kMemory, kMemoryPerByte);
}

int32_t SchemaCompiler::report(void *user, uint64_t done, uint64_t total) {
    auto &self = *static_cast<SchemaCompiler *>(user);
    self.n_done_ = std::max(self.n_done_, done);
    const ggufx_progress *const time = Preparation::progress();
    return self.n_steps_ + self.n_done_ > self.most_steps() ||
           (time && time->report(time->user, done, total) != 0);
}

Grammar SchemaCompiler::create(const std::string &text, GrammarMemory &memory,
                               const ggufx_runtime *runtime, const Place &place) {
    ggufx_progress progress = {};
    progress.user = this;
    progress.report = report;
    auto options = sized<ggufx_grammar_options>();
    options.kind = GGUFX_GRAMMAR_JSON_SCHEMA;
    options.flags = flags_;
    options.text = as_text(text);
    options.progress = &progress;
    n_done_ = 0;
    const uint64_t before = memory.n_bytes();
    memory.limit(before + most_memory() - n_memory_);
    ggufx_grammar *grammar = nullptr;
    ggufx_error error;
    const ggufx_status status =
        ggufx_grammar_create(&grammar, runtime, tokenizer_, &options, &error);
    Grammar out(grammar);
    memory.no_limit();
    if (memory.is_exceeded()) refuse_memory(place);
    if (n_steps_ + n_done_ > most_steps()) refuse_steps(place);
    if (status == GGUFX_OK) return out;
    n_steps_ += n_done_;
    refuse_call(status, error, place.param);
}

SharedGrammar SchemaCompiler::compile(const std::string &text, const Place &place) {
    auto out = std::make_shared<CompiledGrammar>();
    const auto memory = std::make_shared<GrammarMemory>();
    out->flags = flags_;
    out->text = text;
    out->memory = memory;
    cache_.count_compiled();
    Runtime runtime = GrammarMemory::make_runtime(memory);
    const uint64_t before = memory->n_bytes();
    out->handle = create(text, *memory, runtime.get(), place);
    out->n_steps = n_done_;
    out->n_bytes = memory->n_bytes() - before;
    out->n_peak = memory->n_peak() - before;
    return out;
}

// Equal to the limits of a compilation.
void SchemaCompiler::count(const CompiledGrammar &grammar, const Place &place) {
    if (n_memory_ + grammar.n_peak > most_memory()) refuse_memory(place);
    if (n_steps_ + grammar.n_steps > most_steps()) refuse_steps(place);
    n_memory_ += grammar.n_bytes;
    n_steps_ += grammar.n_steps;
}

SharedGrammar SchemaCompiler::of_schema(const std::string &text, const Place &place) {
    if (const auto at = found_.find(text); at != found_.end()) return at->second;
    SharedGrammar out = cache_.find(asker_, flags_, text);
    const bool is_cached = out != nullptr;
    if (!out) out = compile(text, place);
    count(*out, place);
    if (!is_cached) cache_.add(asker_, out);
    found_.emplace(out->text, out);
    return out;
}

} // namespace ggufx::cli
