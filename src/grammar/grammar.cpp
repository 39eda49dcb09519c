// Compilation of a grammar for a vocabulary, see grammar.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/grammar.hpp"

#include "base/budget.hpp"
#include "grammar/gbnf.hpp"
#include "grammar/schema.hpp"

#include <inttypes.h>

namespace ggufx::grammar {

namespace {

// Limits grow with the text, so that time and memory are linear in it. The constants are several
// times what the largest schemas of published tools and tests take (tests/grammar).
constexpr uint64_t kSteps = 4000000, kStepsPerByte = 2000;
constexpr uint64_t kMemory = 32 << 20, kMemoryPerByte = 2048;

void compile_source(GrammarProgram &out, Budget &budget, const GrammarOptions &options) {
    Syntax syntax(budget.host(), budget.work());
    try {
        if (options.source == Source::gbnf)
            read_gbnf(syntax, options.text);
        else
            read_schema(syntax, options.text, options.schema);
        compile(out, syntax, options.text);
    } catch (const Error &) {
        if (!budget.is_spent()) throw;
        fail(Status::limit, {}, "%s: %s", syntax.most_complex(), budget.reason());
    }
}

} // namespace

Grammar::Grammar(Ref<Host> host, Ref<Vocabulary> vocabulary, const GrammarOptions &options)
    : host_(std::move(host)), vocabulary_(std::move(vocabulary)), program_(host_.get()),
      masks_(host_) {
    if (options.text.size() > kMostSource) {
        fail(Status::limit, {.value = options.text.size(), .limit = kMostSource},
             "the grammar has %" PRIu64 " bytes, over %" PRIu64,
             static_cast<uint64_t>(options.text.size()), kMostSource);
    }
    const uint64_t n = options.text.size();
    Budget budget(*host_, options.max_steps ? options.max_steps : kSteps + n * kStepsPerByte,
                  options.max_memory ? options.max_memory : kMemory + n * kMemoryPerByte,
                  options.progress);
    GrammarProgram program(budget.host());
    compile_source(program, budget, options);
    program_.take(program);
}

} // namespace ggufx::grammar
