// Stubs of the grammar functions in builds with -Dchat=false, which also have no grammars: hosts
// link and load as usual, but cannot create objects.
// SPDX-License-Identifier: MIT
#include "abi/generator_handle.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"

#include <ggufx/grammar.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

[[noreturn]] void refuse_grammars() {
    fail(Status::unsupported, At(), "this library was built without grammars");
}

} // namespace

extern "C" ggufx_status ggufx_grammar_create(ggufx_grammar **out, const ggufx_runtime *,
                                             const ggufx_tokenizer *, const ggufx_grammar_options *,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_grammars);
}

extern "C" void ggufx_grammar_destroy(ggufx_grammar *) {
    // no objects exist
}

extern "C" ggufx_status ggufx_matcher_create(ggufx_matcher **out, const ggufx_grammar *,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_clone(ggufx_matcher **out, const ggufx_matcher *,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_grammars);
}

extern "C" void ggufx_matcher_destroy(ggufx_matcher *) {
    // no objects exist
}

extern "C" ggufx_status ggufx_matcher_accept(ggufx_matcher *, const int32_t *, size_t,
                                             ggufx_error *error) {
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_rollback(ggufx_matcher *, uint64_t, ggufx_error *error) {
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_mask(uint32_t *, size_t, ggufx_matcher *,
                                           ggufx_error *error) {
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_info(ggufx_matcher_facts *, const ggufx_matcher *,
                                           ggufx_error *error) {
    return guard(error, refuse_grammars);
}

Status ggufx::abi::sample_matching(int32_t *, float *, sampling::Chain &, ggufx_matcher *,
                                   const float *, size_t, Failure *) {
    refuse_grammars();
}

Ref<generate::Grammar> ggufx::abi::import_grammar(const ggufx_grammar *grammar,
                                                  const ggufx_tokenizer *, uint64_t) {
    if (grammar) refuse_grammars();
    return {};
}
