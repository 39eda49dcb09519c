// Compilation of a grammar for a vocabulary, see grammar.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/grammar.hpp"

#include "grammar/gbnf.hpp"
#include "grammar/schema.hpp"

#include <inttypes.h>

namespace ggufx::grammar {

Grammar::Grammar(Ref<Host> host, Ref<Vocabulary> vocabulary, const GrammarOptions &options)
    : host_(std::move(host)), vocabulary_(std::move(vocabulary)), program_(host_.get()),
      masks_(host_) {
    if (options.text.size() > kMostSource) {
        fail(Status::limit, {}, "the grammar has %" PRIu64 " bytes, over %" PRIu64,
             static_cast<uint64_t>(options.text.size()), kMostSource);
    }
    Syntax syntax(host_.get());
    if (options.source == Source::gbnf)
        read_gbnf(syntax, options.text);
    else
        read_schema(syntax, options.text, options.schema);
    compile(program_, syntax, options.text);
}

} // namespace ggufx::grammar
