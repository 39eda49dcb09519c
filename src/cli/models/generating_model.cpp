// SPDX-License-Identifier: MIT
#include "models/generating_model.hpp"

namespace ggufx::cli {

GeneratingModel::GeneratingModel(const ggufx_runtime *rt, const ggufx_file *file,
                                 const GenerateOptions &options, const ggufx_chat_template *chat)
    : rt_(rt), options_(options), chat_(chat) {
    ggufx_tokenizer *made = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_tokenizer_create(&made, file, &error);
    tokenizer_.reset(made);
    const bool has_ids = !chat && (status == GGUFX_E_UNSUPPORTED || status == GGUFX_E_MISSING);
    if (status != GGUFX_OK && !has_ids) throw Failure(exit_code(status), error);
    if (!made) tokenizer_error_ = error.message;
    if (!options.stops.empty()) tokenizer();
    if (options.grammar.is_set())
        grammar_ = make_grammar(rt, tokenizer(), options.grammar, grammar_text(options.grammar));
    model_ = make_model(rt, file, options.session.making);
    session_ = make_session(rt, file, model(), options.session);
    drafts_ = Drafts(rt, options.drafter, session());
    set_seed(options.sampling.seed);
}

const ggufx_tokenizer *GeneratingModel::tokenizer() const {
    if (tokenizer_) return tokenizer_.get();
    throw Failure(kUnsupported, tokenizer_error_ + "; --tokens runs the model on ids");
}

void GeneratingModel::set_seed(uint64_t seed) {
    options_.sampling.seed = seed;
    const Sampler sampler =
        make_sampler(rt_, model_facts(model()).n_vocab, options_.sampling, tokenizer_.get());
    auto options = sized<ggufx_generator_options>();
    if (!tokenizer_) options.flags |= GGUFX_GENERATOR_IDS_ONLY;
    if (options_.logprobs) options.flags |= GGUFX_GENERATOR_LOGPROBS;
    options.max_tokens = options_.n_predict;
    options.tokenizer = tokenizer_.get();
    options.sampler = sampler.get();
    options.grammar = grammar_.get();
    options.chat = chat_;
    options.draft = drafts_.get();
    generator_.reset(); // two cannot have one sequence
    generator_ = make_generator(session(), options, options_.stops);
}

} // namespace ggufx::cli
