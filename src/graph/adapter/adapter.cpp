// SPDX-License-Identifier: MIT
#include "graph/adapter/adapter.hpp"

#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "formats/format.hpp"
#include "graph/adapter/lora.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <inttypes.h>
#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr std::string_view kDirection = "direction.";

// Returns the value of a key; empty if it is missing.
std::string_view text_of(const gguf::File &file, const char *key) {
    const size_t index = file.find_meta(key);
    return index == gguf::kNotFound ? std::string_view() : file.get_string(index);
}

[[noreturn]] void refuse_text(Status status, const char *key, std::string_view text,
                              std::string_view wanted) {
    fail(status, {}, "key %s of the adapter is \"%s\", not \"%.*s\"", key, Quoted(text).c_str(),
         static_cast<int>(wanted.size()), wanted.data());
}

double alpha_of(const gguf::File &file) {
    constexpr const char *key = "adapter.lora.alpha";
    const size_t index = file.find_meta(key);
    if (index == gguf::kNotFound) return 0;
    const double alpha = file.get_f64(index);
    if (!(fabs(alpha) <= 1e9))
        fail(Status::value, {file.meta(index).offset, index}, "key %s is out of range", key);
    return alpha;
}

uint64_t add_numbers(uint64_t crc, std::initializer_list<uint64_t> numbers) {
    for (const uint64_t v : numbers) {
        uint8_t b[8];
        store_u32le(b, static_cast<uint32_t>(v));
        store_u32le(b + 4, static_cast<uint32_t>(v >> 32));
        crc = crc64(crc, b, sizeof b);
    }
    return crc;
}

uint64_t add_tensor(uint64_t crc, const gguf::Tensor &t) {
    crc = crc64(crc, t.name.data(), t.name.size());
    crc = add_numbers(crc, {t.name.size(), t.type, t.ne[0], t.ne[1], t.ne[2], t.ne[3]});
    for (uint64_t row = 0; t.data && row < t.n_rows; row++)
        crc = crc64(crc, t.data + row * t.row_stride, static_cast<size_t>(t.row_bytes));
    return crc;
}

} // namespace

void AdapterRoom::widen(const AdapterRoom &other) {
    ranks = std::max(ranks, other.ranks);
    rows = std::max(rows, other.rows);
    least = std::max(least, other.least);
}

uint64_t AdapterRoom::floats(uint64_t n_tokens) const {
    return n_tokens * ranks + std::max(n_tokens * rows, least);
}

Adapter::Adapter(const Ref<Host> &host, Ref<gguf::File> file, const gguf::File &model,
                 const Graph &graph, const AdapterOptions &options)
    : host_(host), file_(std::move(file)), graph_(graph), of_(HostAllocator<uint32_t>(host.get())),
      pairs_(HostAllocator<LowRank>(host.get())), targets_(HostAllocator<Target>(host.get())),
      floats_(HostAllocator<float>(host.get())) {
    read_kind();
    if (kind_ == AdapterKind::control)
        bind_directions(options);
    else
        LoraBinder(*this, model).bind();
    // LoRA weights point into floats_, which must not move
    if (kind_ == AdapterKind::control) floats_.shrink_to_fit();
    of_.shrink_to_fit();
    pairs_.shrink_to_fit();
    targets_.shrink_to_fit();
    const auto before = [](const Target &a, const Target &b) { return a.tensor < b.tensor; };
    std::sort(targets_.begin(), targets_.end(), before);
    if (!has_data_) return;
    identity_ = add_numbers(0, {static_cast<uint64_t>(kind_), options.first_layer,
                                options.last_layer, std::bit_cast<uint64_t>(alpha_)});
    for (size_t i = 0; i < file_->n_tensors(); i++)
        identity_ = add_tensor(identity_, file_->tensor(i));
}

void Adapter::release() {
    if (!refs_.release()) return;
    const Ref<Host> keep = host_;
    unmake(*keep, this);
}

uint64_t Adapter::memory_bytes() const {
    return of_.capacity() * sizeof of_[0] + pairs_.capacity() * sizeof pairs_[0] +
           targets_.capacity() * sizeof targets_[0] + n_floats_ * sizeof(float);
}

uint32_t Adapter::n_targets() const {
    return kind_ == AdapterKind::lora ? static_cast<uint32_t>(targets_.size()) : n_directions_;
}

void Adapter::read_kind() {
    constexpr const char *architecture = "general.architecture";
    const std::string_view name = text_of(*file_, architecture);
    if (name == "controlvector") {
        kind_ = AdapterKind::control;
        return;
    }
    const std::string_view type = text_of(*file_, "general.type");
    if (type != "adapter") refuse_text(Status::unsupported, "general.type", type, "adapter");
    const std::string_view kind = text_of(*file_, "adapter.type");
    if (kind != "lora") refuse_text(Status::unsupported, "adapter.type", kind, "lora");
    if (name != graph_.architecture)
        refuse_text(Status::mismatch, architecture, name, graph_.architecture);
    constexpr const char *invoked = "adapter.alora.invocation_tokens";
    if (file_->find_meta(invoked) != gguf::kNotFound)
        fail(Status::unsupported, {},
             "the adapter takes effect after certain tokens only (key %s), which is not supported",
             invoked);
    alpha_ = alpha_of(*file_);
}

// Binds directions: "direction.7" belongs to layer 7, counted from 0; layer 0 has none.
void Adapter::bind_directions(const AdapterOptions &options) {
    const uint32_t n = graph_.shape.n_layers, end = options.last_layer;
    if (options.first_layer >= n || end >= n || (end && options.first_layer > end))
        fail(Status::argument, {},
             "layers %" PRIu32 " to %" PRIu32 ": the model has layers 0 to %" PRIu32,
             options.first_layer, end, n - 1);
    of_.assign(graph_.shape.n_layers, kNoIndex);
    for (size_t i = 0; i < file_->n_tensors(); i++) bind_direction(file_->tensor(i), options);
    if (n_directions_ == 0)
        fail(Status::missing, {}, "the control vector has no direction for any of these layers");
}

void Adapter::bind_direction(const gguf::Tensor &t, const AdapterOptions &options) {
    const Quoted name(t.name.data(), t.name.size());
    const char *const end = t.name.data() + t.name.size();
    uint32_t layer = 0;
    std::from_chars_result parsed = {nullptr, std::errc::invalid_argument};
    if (t.name.starts_with(kDirection))
        parsed = std::from_chars(t.name.data() + kDirection.size(), end, layer);
    if (parsed.ec != std::errc() || parsed.ptr != end || layer == 0)
        fail(Status::unsupported, {t.info_offset},
             "tensor \"%s\" of the control vector is not named direction.LAYER with a layer of at "
             "least 1",
             name.c_str());
    const fmt::TypeInfo *type = fmt::type_info(t.type);
    if (!type || type->kind != fmt::Kind::kFloat)
        fail(Status::type, {t.info_offset},
             "tensor \"%s\" of the control vector is of type %s, not a float type", name.c_str(),
             type ? type->name : "unknown");
    const uint32_t n_embd = graph_.shape.n_embd;
    if (layer >= of_.size() || t.ne[0] != n_embd || t.n_rows != 1)
        fail(Status::mismatch, {t.info_offset},
             "tensor \"%s\" of the control vector is [%" PRIu64 ", %" PRIu64 "], the model has "
             "%" PRIu32 " layers of %" PRIu32 " values",
             name.c_str(), t.ne[0], t.n_rows, graph_.shape.n_layers, n_embd);
    const uint32_t last = options.last_layer ? options.last_layer : UINT32_MAX;
    if (layer < options.first_layer || layer > last) return;
    of_[layer] = n_directions_++;
    n_floats_ += n_embd;
    has_data_ = has_data_ && t.data;
    if (!t.data) return;
    floats_.resize(static_cast<size_t>(n_floats_));
    fmt::decode_row(floats_.data() + n_floats_ - n_embd, *type, t.data, n_embd);
}

} // namespace ggufx::model
