// Binding: every tensor of the graph by name, its shape and type checked; a tensor of a block that
// the graph does not know (a bias, an adapter, a scale) would change the result, so it is refused.
// SPDX-License-Identifier: MIT
#include "model/model.hpp"

#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "base/math.hpp"
#include "formats/format.hpp"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

namespace ggufx::model {

// Finds and checks tensors, and remembers which ones have a place.
class Model::Binder {
public:
    explicit Binder(Model &model)
        : model_(model), file_(*model.file_),
          used_(file_.n_tensors(), 0, HostAllocator<uint8_t>(model.host_.get())) {}

    bool has(const char *name) const { return file_.find_tensor(name) != gguf::kNotFound; }

    matmul::Weights matrix(const char *name, uint64_t n_cols, uint64_t n_rows) {
        const gguf::Tensor t = find(name, n_cols, n_rows);
        const fmt::TypeInfo *type = fmt::type_info(t.type);
        const bool usable = type && (type->kind == fmt::Kind::kQuantized ||
                                     (type->kind == fmt::Kind::kFloat && type->block_bytes <= 4));
        if (!usable) {
            fail(Status::type, {t.info_offset},
                 "tensor \"%s\" is of type %s, which has no matrix product", name,
                 type ? type->name : "unknown");
        }
        return {t.type, t.data, t.row_stride, n_rows, n_cols};
    }

    // A short vector, decoded to f32; gives its start in vectors_.
    size_t vector(const char *name, uint64_t n) {
        const gguf::Tensor t = find(name, n, 1);
        const fmt::TypeInfo *type = fmt::type_info(t.type);
        if (!type || type->kind != fmt::Kind::kFloat) {
            fail(Status::type, {t.info_offset}, "tensor \"%s\" is of type %s, not a float type",
                 name, type ? type->name : "unknown");
        }
        const size_t start = model_.vectors_.size();
        model_.vectors_.resize(start + static_cast<size_t>(n));
        float *out = model_.vectors_.data() + start;
        if (t.data) fmt::decode_row(out, *type, t.data, static_cast<size_t>(n));
        return start;
    }

    void refuse_leftovers() const;
    void require_data() const;

private:
    gguf::Tensor find(const char *name, uint64_t n_cols, uint64_t n_rows);

    Model &model_;
    const gguf::File &file_;
    Vector<uint8_t> used_;
};

gguf::Tensor Model::Binder::find(const char *name, uint64_t n_cols, uint64_t n_rows) {
    const size_t index = file_.find_tensor(name);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "tensor \"%s\" is missing", name);
    const gguf::Tensor t = file_.tensor(index);
    // n_rows 0: any number. Rows may be spread over the outer dimensions only as ones.
    const bool fits = t.ne[0] == n_cols && (n_rows == 0 || t.ne[1] == n_rows) && t.ne[1] > 0 &&
                      t.ne[2] == 1 && t.ne[3] == 1;
    if (!fits) {
        fail(Status::shape, {t.info_offset, index},
             "tensor \"%s\" is [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
             "], the model needs [%" PRIu64 ", %" PRIu64 "]",
             name, t.ne[0], t.ne[1], t.ne[2], t.ne[3], n_cols, n_rows);
    }
    used_[index] = 1;
    model_.n_parameters_ += t.ne[0] * t.ne[1];
    model_.weight_bytes_ += t.n_bytes;
    return t;
}

void Model::Binder::refuse_leftovers() const {
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        const gguf::Tensor t = file_.tensor(i);
        if (used_[i] || t.name.substr(0, 4) != "blk.") continue;
        // Old converters stored the rotation's angles, which the keys determine.
        if (t.name.find(".attn_rot_embd") != std::string_view::npos) continue;
        fail(Status::unsupported, {t.info_offset, i},
             "tensor \"%s\" has no place in the llama graph of this library: models with it are "
             "not supported",
             Quoted(t.name.data(), t.name.size()).c_str());
    }
}

void Model::Binder::require_data() const {
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        const gguf::Tensor t = file_.tensor(i);
        if (!used_[i] || t.data) continue;
        fail(Status::argument, {kNone, i},
             "the data of tensor \"%s\" are not in memory: the file was opened for metadata only",
             Quoted(t.name.data(), t.name.size()).c_str());
    }
}

namespace {

constexpr size_t kLayerTensors = 9;

struct Name {
    char text[64];
    Name(size_t layer, const char *what) {
        snprintf(text, sizeof text, "blk.%u.%s.weight", static_cast<unsigned>(layer), what);
    }
};

} // namespace

ModelLengths::ModelLengths(const HyperParameters &hp, bool has_rope_freqs)
    : layers(hp.n_layers), frequencies(hp.rope_dims / 2) {
    // Before attention and feed-forward, and at the end.
    vectors = hp.n_embd * (2 * layers + 1) + (has_rope_freqs ? frequencies : 0);
}

uint64_t ModelLengths::bytes() const {
    return layers * sizeof(Layer) + vectors * sizeof(float) + frequencies * sizeof(double);
}

// A file that claims more than it can hold will be refused: nothing is taken for it.
void Model::reserve(const ModelLengths &lengths) {
    uint64_t n_bytes = 0; // floats have two at least
    for (size_t i = 0; i < file_->n_parts(); i++) n_bytes += file_->part(i).size;
    if (file_->n_tensors() / kLayerTensors < lengths.layers || n_bytes / 2 < lengths.vectors) return;
    if (lengths.bytes() > PTRDIFF_MAX) throw std::bad_alloc();
    layers_.reserve(static_cast<size_t>(lengths.layers));
    vectors_.reserve(static_cast<size_t>(lengths.vectors));
    frequencies_.reserve(static_cast<size_t>(lengths.frequencies));
}

void Model::bind_layers(Binder &binder) {
    const HyperParameters &hp = hyper_;
    const uint64_t embd = hp.n_embd, ff = hp.n_ff;
    const uint64_t q = uint64_t{hp.n_heads} * hp.head_dim_k;
    const uint64_t k = uint64_t{hp.n_kv_heads} * hp.head_dim_k;
    const uint64_t v = uint64_t{hp.n_kv_heads} * hp.head_dim_v;
    const uint64_t heads = uint64_t{hp.n_heads} * hp.head_dim_v;
    for (size_t i = 0; i < hp.n_layers; i++) {
        Layer layer{};
        layer.attn_norm = binder.vector(Name(i, "attn_norm").text, embd);
        layer.q = binder.matrix(Name(i, "attn_q").text, embd, q);
        layer.k = binder.matrix(Name(i, "attn_k").text, embd, k);
        layer.v = binder.matrix(Name(i, "attn_v").text, embd, v);
        layer.attn_output = binder.matrix(Name(i, "attn_output").text, heads, embd);
        layer.ffn_norm = binder.vector(Name(i, "ffn_norm").text, embd);
        layer.gate = binder.matrix(Name(i, "ffn_gate").text, embd, ff);
        layer.up = binder.matrix(Name(i, "ffn_up").text, embd, ff);
        layer.down = binder.matrix(Name(i, "ffn_down").text, ff, embd);
        layers_.push_back(layer);
    }
}

// Angle of pair i per position: base^(-2i / dims) / factor[i] / scale, in binary64.
void Model::set_frequencies(const float *factors) {
    const CanonicalFp canonical;
    const uint32_t pairs = hyper_.rope_dims / 2;
    for (uint32_t i = 0; i < pairs; i++) {
        const double exponent = -static_cast<double>(2 * i) / static_cast<double>(2 * pairs);
        double frequency = pow_f64(hyper_.rope_base, exponent) / hyper_.rope_scale;
        if (factors) {
            const double factor = static_cast<double>(factors[i]);
            if (!(factor > 1e-6 && factor < 1e6)) {
                fail(Status::hparam, {kNone, i},
                     "rope_freqs.weight: value %" PRIu32 " is out of range", i);
            }
            frequency /= factor;
        }
        frequencies_.push_back(frequency);
    }
}

Model::Model(Ref<gguf::File> file, const Ref<Host> &host, const matmul::Engine &engine)
    : file_(std::move(file)), host_(host), engine_(engine), hyper_(read_hyper_parameters(*file_)),
      layers_(HostAllocator<Layer>(host_.get())), vectors_(HostAllocator<float>(host_.get())),
      frequencies_(HostAllocator<double>(host_.get())) {
    Binder binder(*this);
    const uint64_t embd = hyper_.n_embd, pairs = hyper_.rope_dims / 2;
    embedding_ = binder.matrix("token_embd.weight", embd, hyper_.n_vocab);
    const gguf::Tensor table = file_->tensor(file_->find_tensor("token_embd.weight"));
    if (table.ne[1] > INT32_MAX) fail(Status::hparam, {}, "the vocabulary exceeds 2^31 tokens");
    hyper_.n_vocab = embedding_.n_rows = table.ne[1];
    const bool scaled = pairs > 0 && binder.has("rope_freqs.weight");
    reserve(ModelLengths(hyper_, scaled));
    output_norm_ = binder.vector("output_norm.weight", embd);
    const bool untied = binder.has("output.weight");
    output_ = untied ? binder.matrix("output.weight", embd, hyper_.n_vocab) : embedding_;
    bind_layers(binder);
    const size_t factors = scaled ? binder.vector("rope_freqs.weight", pairs) : 0;
    binder.refuse_leftovers();
    binder.require_data();
    set_frequencies(scaled ? vector(factors) : nullptr);
}

} // namespace ggufx::model
