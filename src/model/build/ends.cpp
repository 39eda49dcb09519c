// Where tokens become rows of numbers, and rows logits.
// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"

namespace ggufx::model {

View Builder::embed(float scale) {
    const TensorName name(kNoLayer, "token_embd");
    Shape &shape = program_.shape;
    tokens_ = binder_.matrix(name, shape.n_embd, vocabulary(), Role::token_embd);
    shape.n_vocab = program_.weights[tokens_].w.n_rows;
    if (shape.n_vocab > INT32_MAX) fail(Status::hparam, {}, "the vocabulary exceeds 2^31 tokens");
    const View x = slot(shape.n_embd);
    program_.stream = x;
    emit(step::Embed{x, tokens_, scale});
    return x;
}

void Builder::add_positions(View x, const char *table) {
    Shape &shape = program_.shape;
    const View p = slot(x.width);
    const uint32_t rows = binder_.matrix({kNoLayer, table}, x.width, shape.n_context, Role::kept);
    shape.n_positions = shape.n_context;
    emit(step::Embed{p, rows, 1, true});
    add(x, p);
}

void Builder::add_token_types(View x) {
    if (!has("token_types")) return;
    const gguf::File &file = keys_.file();
    const size_t key = file.find_meta("tokenizer.ggml.token_type_count");
    const uint64_t n = key == gguf::kNotFound ? 0 : file.get_u64(key);
    emit(step::AddVector{x, binder_.table({kNoLayer, "token_types"}, n_embd(), n)});
}

void Builder::begin_part(PartKind part) {
    program_.parts[static_cast<uint32_t>(part)].first_step =
        static_cast<uint32_t>(program_.steps.size());
}

void Builder::output(View x, const Traits &traits) {
    begin_part(PartKind::hidden);
    program_.hidden = traits.output_norm ? normed(x, traits.output_norm, traits.norm) : x;
    begin_part(PartKind::spread);
    begin_part(PartKind::logits);
    if (traits.logits) logits(program_.hidden, traits);
    pool(program_.hidden, traits);
}

void Builder::logits(View h, const Traits &traits) {
    View logits = slot(program_.shape.n_vocab);
    program_.slots[logits.slot].outside = true;
    program_.logits = logits;
    if (binder_.has({kNoLayer, "output"})) {
        const Linear list = {"output", program_.shape.n_vocab, Role::output};
        linears(&logits, h, &list, 1);
    } else {
        const Share s = share(program_.shape.n_vocab);
        const View own = logits.part(s.first, s.n);
        step::Product product{};
        product.in = h;
        const bool is_cut = s.borders != kNoIndex;
        product.to[0] = {own, is_cut ? binder_.slice(tokens_, s.first, s.n) : tokens_};
        product.n = 1;
        emit(product);
        epilogue(own, "output", s.first, program_.shape.n_vocab);
        exchange(own, logits, s.borders);
    }
    if (traits.logit_scale != 1) emit(step::Scale{logits, traits.logit_scale});
    if (traits.logit_cap != 0) emit(step::Cap{logits, traits.logit_cap});
}

} // namespace ggufx::model
