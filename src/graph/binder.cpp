// SPDX-License-Identifier: MIT
#include "graph/binder.hpp"

#include "formats/format.hpp"

#include <algorithm>
#include <charconv>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

namespace ggufx::model {

namespace {

const fmt::TypeInfo *float_type(const gguf::Tensor &t, const TensorName &name) {
    const fmt::TypeInfo *type = fmt::type_info(t.type);
    if (!type || type->kind != fmt::Kind::kFloat)
        fail(Status::type, {t.info_offset}, "tensor \"%s\" is of type %s, not a float type",
             name.text, type ? type->name : "unknown");
    return type;
}

// Shape as text: "[n, n]", with a third dimension unless it is 1; "any" for any number of rows.
struct Needed {
    char text[80];
    explicit Needed(const uint64_t (&ne)[3]) {
        char rows[24] = "any", parts[24] = "";
        if (ne[1]) snprintf(rows, sizeof rows, "%" PRIu64, ne[1]);
        if (ne[2] != 1) snprintf(parts, sizeof parts, ", %" PRIu64, ne[2]);
        snprintf(text, sizeof text, "[%" PRIu64 ", %s%s]", ne[0], rows, parts);
    }
};

// Returns whether a tensor with this name changes the logits of a text model. Others (images,
// audio, an exporter's own) may stay unread, as may RoPE factors.
bool is_of_the_text(std::string_view name) {
    for (const char *prefix : {"blk.", "token_embd", "token_types", "position_embd", "output",
                               "per_layer_", "dense_", "cls"})
        if (name.starts_with(prefix)) return true;
    return false;
}

// Tensors of published converters that no known implementation uses: logits are the same without
// them.
struct WithoutEffect {
    std::string_view part; // part of the tensor's name
    bool at_end;           // at the end of the name, else anywhere in it
};
constexpr WithoutEffect kWithoutEffect[] = {
    // NVFP4: the scale for quantizing activations to 4 bits. Products here read float activations.
    // ".scale" is not listed: it multiplies a product's result.
    {".input_scale", true},
    // RoPE frequencies of old Baichuan and LLaMA files: they follow from rope.freq_base.
    {".attn_rot_embd", false},
    {".rotary_emb.inv_freq", true},
    // Causal masks that GPT-2 and GPT-NeoX checkpoints stored as buffers.
    {".attn.masked_bias", true},
    {".attn.bias", true},
    // Multi-token prediction heads: logits do not depend on them.
    {".nextn.", false},
};

bool has_no_effect(std::string_view name) {
    for (const WithoutEffect &known : kWithoutEffect) {
        const bool named = known.at_end ? name.ends_with(known.part)
                                        : name.find(known.part) != std::string_view::npos;
        if (named) return true;
    }
    return false;
}

// Tensor names of other exporters: our name, their name, after "blk.N." if any.
struct OtherName {
    std::string_view name, other;
};
constexpr OtherName kOtherNames[] = {
    {"ssm_dt.bias", "ssm_dt"},                          // Ollama: Qwen 3.5
    {"ffn_norm.weight", "ffn_norm"},                    // llama.cpp: Falcon H1
    {"exp_probs_b.bias", "exp_probs_b"},                // llama.cpp before 2025-07
    {"ffn_latent_down.weight", "ffn_latent_in.weight"}, // Ollama: Nemotron H with experts
    {"ffn_latent_up.weight", "ffn_latent_out.weight"},
};

} // namespace

TensorName::TensorName(uint32_t layer, const char *what, const char *kind) {
    const char *dot = *kind ? "." : "";
    if (layer == kNoLayer)
        snprintf(text, sizeof text, "%s%s%s", what, dot, kind);
    else
        snprintf(text, sizeof text, "blk.%" PRIu32 ".%s%s%s", layer, what, dot, kind);
}

Binder::Binder(const gguf::File &file, const PartialTensors *partial, Graph &graph)
    : file_(file), partial_(partial), graph_(graph),
      used_(file.n_tensors(), Use(), HostAllocator<Use>(file.host().get())) {}

size_t Binder::index_of(const TensorName &name) const {
    const size_t index = file_.find_tensor(name.text);
    if (index != gguf::kNotFound) return index;
    std::string_view rest = name.text;
    if (rest.starts_with("blk."))
        rest.remove_prefix(std::min(rest.find('.', 4), rest.size() - 1) + 1);
    const auto prefix = static_cast<int>(rest.data() - name.text);
    for (const OtherName &known : kOtherNames) {
        if (rest != known.name) continue;
        char other[sizeof name.text];
        const int n = snprintf(other, sizeof other, "%.*s%.*s", prefix, name.text,
                               static_cast<int>(known.other.size()), known.other.data());
        return file_.find_tensor({other, static_cast<size_t>(n)});
    }
    return gguf::kNotFound;
}

bool Binder::has(const TensorName &name) const {
    return index_of(name) != gguf::kNotFound;
}

bool Binder::is_read(const TensorName &name) const {
    const size_t index = index_of(name);
    return index != gguf::kNotFound && file_.tensor(index).data;
}

uint64_t Binder::length(const TensorName &name) const {
    const size_t index = index_of(name);
    return index == gguf::kNotFound ? 0 : file_.tensor(index).ne[0];
}

uint64_t Binder::rows_of(const TensorName &name) const {
    const size_t index = index_of(name);
    return index == gguf::kNotFound ? 0 : whole(index).ne[1];
}

gguf::Tensor Binder::find(const TensorName &name, const uint64_t (&ne)[3], Role role) {
    const size_t index = index_of(name);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "tensor \"%s\" is missing", name.text);
    const gguf::Tensor t = whole(index);
    const bool fits = t.ne[0] == ne[0] && (ne[1] == 0 || t.ne[1] == ne[1]) && t.ne[1] > 0 &&
                      t.ne[2] == ne[2] && t.ne[3] == 1;
    if (!fits)
        fail(Status::shape, {t.info_offset, index},
             "tensor \"%s\" is [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
             "], the model needs %s",
             name.text, t.ne[0], t.ne[1], t.ne[2], t.ne[3], Needed(ne).text);
    if (!used_[index].used) {
        graph_.n_parameters += t.ne[0] * t.ne[1] * t.ne[2]; // below 2^63: checked by the reader
        graph_.weight_bytes += t.n_bytes;
    }
    used_[index].used = true;
    used_[index].role = role;
    return t;
}

uint32_t Binder::matrices(const TensorName &name, uint64_t n_cols, uint64_t n_rows,
                          uint64_t n_parts, Role role) {
    const gguf::Tensor t = find(name, {n_cols, n_rows, n_parts}, role);
    const fmt::TypeInfo *type = fmt::type_info(t.type);
    const bool usable = type && (type->kind == fmt::Kind::kQuantized ||
                                 (type->kind == fmt::Kind::kFloat && type->block_bytes <= 4));
    if (!usable)
        fail(Status::type, {t.info_offset},
             "tensor \"%s\" is of type %s, which has no matrix product", name.text,
             type ? type->name : "unknown");
    WeightInfo info;
    info.tensor = index_of(name);
    info.w = {t.type, t.data, t.row_stride, t.ne[1] * t.ne[2], n_cols};
    info.n_parts = static_cast<uint32_t>(n_parts);
    graph_.weights.push_back(info);
    return static_cast<uint32_t>(graph_.weights.size() - 1);
}

uint32_t Binder::matrix(const TensorName &name, uint64_t n_cols, uint64_t n_rows, Role role) {
    return matrices(name, n_cols, n_rows, 1, role);
}

uint32_t Binder::slice(uint32_t weights, uint64_t first_row, uint64_t n_rows) {
    WeightInfo info = graph_.weights[weights];
    if (info.n_parts > 1 && info.part_stride == 0) info.part_stride = info.w.n_rows / info.n_parts;
    if (info.w.data) info.w.data += first_row * info.w.stride;
    info.first += first_row;
    info.w.n_rows = info.n_parts * n_rows;
    graph_.weights.push_back(info);
    return static_cast<uint32_t>(graph_.weights.size() - 1);
}

uint32_t Binder::parts(uint32_t weights, uint32_t first, uint32_t n) {
    WeightInfo info = graph_.weights[weights];
    const uint64_t rows = info.w.n_rows / info.n_parts;
    if (info.w.data) info.w.data += first * rows * info.w.stride;
    info.first += first * rows;
    info.w.n_rows = n * rows;
    info.n_parts = n;
    graph_.weights.push_back(info);
    return static_cast<uint32_t>(graph_.weights.size() - 1);
}

// Reserves n more floats; stores them only when the file's data are read.
Vec Binder::add_floats(uint64_t n) {
    const uint64_t start = graph_.n_vector_floats;
    if (n >= kNoIndex - start)
        fail(Status::limit, {}, "the vectors of the model exceed 2^32 values");
    graph_.n_vector_floats += n;
    return static_cast<Vec>(start);
}

Vec Binder::columns(Vec from, uint64_t n_cols, uint64_t n_rows, const Range *ranges,
                    size_t n_ranges) {
    uint64_t n = 0;
    for (size_t i = 0; i < n_ranges; i++) n += ranges[i].n;
    const Vec start = add_floats(n * n_rows); // part of floats that were counted already
    if (graph_.vectors.size() < from + n_cols * n_rows) return start; // no data
    graph_.vectors.resize(static_cast<size_t>(start + n * n_rows));
    float *out = graph_.vectors.data() + start;
    for (uint64_t row = 0; row < n_rows; row++) {
        const float *in = graph_.vectors.data() + from + row * n_cols;
        for (size_t i = 0; i < n_ranges; out += ranges[i++].n)
            memcpy(out, in + ranges[i].first, static_cast<size_t>(ranges[i].n) * sizeof *out);
    }
    return start;
}

Vec Binder::table(const TensorName &name, uint64_t n_cols, uint64_t n_rows) {
    const gguf::Tensor t = find(name, {n_cols, n_rows, 1}, Role::kept);
    const fmt::TypeInfo *type = float_type(t, name);
    const size_t index = index_of(name);
    used_[index].whole = true;
    if (partial_) partial_->require_all(index);
    const uint64_t start = graph_.n_vector_floats, n = n_cols * n_rows; // below 2^63
    if (n >= kNoIndex - start)
        fail(Status::limit, {t.info_offset}, "the vectors of the model exceed 2^32 values");
    graph_.n_vector_floats += n;
    // no allocation for sizes that only a header claims
    if (!t.data) return static_cast<Vec>(start);
    graph_.vectors.resize(static_cast<size_t>(start + n));
    float *out = graph_.vectors.data() + start;
    for (uint64_t row = 0; row < n_rows; row++)
        fmt::decode_row(out + row * n_cols, *type, t.data + row * t.row_stride,
                        static_cast<size_t>(n_cols));
    return static_cast<Vec>(start);
}

Vec Binder::vector(const TensorName &name, uint64_t n) {
    return table(name, n, 1);
}

Vec Binder::repeated(const TensorName &name, uint64_t n, uint64_t times) {
    const Vec start = table(name, 1, n);
    const uint64_t all = n * times, more = all - n; // both below kMaxWidth
    if (more >= kNoIndex - graph_.n_vector_floats)
        fail(Status::limit, {}, "the vectors of the model exceed 2^32 values");
    graph_.n_vector_floats += more;
    if (!is_read(name)) return start;
    graph_.vectors.resize(static_cast<size_t>(start + all));
    float *values = graph_.vectors.data() + start;
    for (uint64_t i = all; i-- > 0;) values[i] = values[i / times]; // reads at or below i
    return start;
}

Vec Binder::turned(const TensorName &name, uint64_t n_cols, uint64_t n_rows) {
    const Vec start = table(name, n_cols, n_rows);
    if (!is_read(name)) return start;
    float *values = graph_.vectors.data() + start;
    const size_t n = static_cast<size_t>(n_cols * n_rows);
    const Vector<float> rows(values, values + n, graph_.vectors.get_allocator());
    for (uint64_t r = 0; r < n_rows; r++)
        for (uint64_t c = 0; c < n_cols; c++) values[c * n_rows + r] = rows[r * n_cols + c];
    return start;
}

bool Binder::is_passed(std::string_view name) const {
    if (has_no_effect(name)) return true;
    if (!name.starts_with("blk.")) return false;
    uint32_t layer = 0;
    const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), layer);
    return error == std::errc() && layer >= passed_first_ && layer < passed_end_;
}

Roles Binder::roles() const {
    Roles out(used_.size(), Role::other, HostAllocator<Role>(file_.host().get()));
    for (size_t i = 0; i < out.size(); i++)
        out[i] = used_[i].used ? used_[i].role : quant::category_of(file_.tensor(i).name);
    return out;
}

void Binder::note_whole(Vector<uint8_t> &tensors) const {
    for (size_t i = 0; i < used_.size(); i++) tensors[i] |= used_[i].whole;
}

void Binder::refuse_leftovers() const {
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        const gguf::Tensor t = file_.tensor(i);
        if (used_[i].used || !is_of_the_text(t.name) || is_passed(t.name)) continue;
        fail(Status::unsupported, {t.info_offset, i},
             "tensor \"%s\" is not part of the %s graph of this library: models with it are not "
             "supported",
             Quoted(t.name).c_str(), graph_.architecture);
    }
}

void Binder::require_data() const {
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        const gguf::Tensor t = file_.tensor(i);
        if (!used_[i].used || t.data) continue;
        fail(Status::argument, {kNone, i},
             "the data of tensor \"%s\" are not in memory: the file was opened for metadata only",
             Quoted(t.name).c_str());
    }
}

} // namespace ggufx::model
