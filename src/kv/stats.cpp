// Statistics for ggufx_kv_info: tokens, pages, bytes, encoding errors.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

struct Sums {
    double k_error = 0, k_square = 0, v_error = 0, v_square = 0;
};

void add_layer(Stats &out, Sums &sums, const Cache::State &s, uint32_t index) {
    const Layer &layer = s.layers[index];
    out.bytes_per_token +=
        s.config.n_kv_heads * (vector_bytes(*layer.k, s.config.head_dim_k) +
                               (s.config.v_in_k ? 0 : vector_bytes(*layer.v, s.config.head_dim_v)));
    for (const Form form : kForms) {
        out.n_pages += layer.n_blocks[form];
        out.page_bytes += layer.n_blocks[form] * layer.shape[form].bytes;
    }
    out.n_plain_pages +=
        (layer.encodes ? layer.n_blocks[kPlain] : 0) + (layer.sinks ? layer.n_blocks[kSinks] : 0);
    for (uint32_t i = 0; i < s.config.n_sequences; i++) {
        const Track &track = s.track(index, i);
        for (size_t p = 0; p < track.n_pages; p++) {
            const Block &block = *track.pages[p].block;
            out.n_shared_pages += block.n_owners > 1;
            if (block.form != kEncoded) continue;
            const auto *errors =
                reinterpret_cast<const HeadErrors *>(block.data() + layer.shape[kEncoded].errors);
            for (uint32_t h = 0; h < s.config.n_kv_heads; h++) {
                sums.k_error += static_cast<double>(errors[h].k_error);
                sums.k_square += static_cast<double>(errors[h].k_square);
                sums.v_error += static_cast<double>(errors[h].v_error);
                sums.v_square += static_cast<double>(errors[h].v_square);
            }
        }
    }
}

} // namespace

Status Cache::stats(Stats *out, uint32_t layer, Failure *failure) const {
    const State &s = *state_;
    const CanonicalFp canonical;
    *out = {};
    if (layer != kAllLayers) {
        const Status status = check_layer(s.config, layer, failure);
        if (status != Status::ok) return status;
    }
    Sums sums;
    const bool all = layer == kAllLayers;
    out->type_k = all ? s.config.type_k : s.layers[layer].k->facts.id;
    out->type_v = all ? s.config.type_v : s.layers[layer].v->facts.id;
    for (uint32_t i = 0; i < s.config.n_layers; i++)
        if (layer == kAllLayers || layer == i) add_layer(*out, sums, s, i);
    for (uint32_t i = 0; i < s.config.n_sequences; i++)
        out->n_tokens += s.track(layer == kAllLayers ? 0 : layer, i).n_tokens;
    const double values =
        static_cast<double>(all ? s.config.n_layers : 1) * s.config.n_kv_heads *
        (double{1} * s.config.head_dim_k + (s.config.v_in_k ? 0 : s.config.head_dim_v));
    out->bits_per_value = static_cast<double>(out->bytes_per_token) * 8 / values;
    out->k_error = sums.k_square > 0 ? sums.k_error / sums.k_square : 0;
    if (s.config.v_in_k) sums.v_error = sums.k_error, sums.v_square = sums.k_square;
    out->v_error = sums.v_square > 0 ? sums.v_error / sums.v_square : 0;
    return Status::ok;
}

} // namespace ggufx::kv
