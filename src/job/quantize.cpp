// SPDX-License-Identifier: MIT
#include "job/quantize.hpp"

#include "base/bytes.hpp"
#include "gguf/shape.hpp"
#include "gguf/split_name.hpp"

#include <bit>
#include <string.h>

namespace ggufx::job {

namespace {

constexpr uint32_t kQuantizationVersion = 2;
constexpr uint64_t kLooked = 4096;   // bytes at either end of a tensor that are hashed
constexpr size_t kLongestName = 127; // the reference's limit for strings it sets itself

// Removes an existing key and appends the new one, as the reference does.
void put_number(gguf::Writer &writer, std::string_view key, gguf::ValueType type, uint64_t value) {
    if (writer.find_key(key)) writer.unset(key);
    writer.set_number(key, type, value);
}
void put_string(gguf::Writer &writer, std::string_view key, std::string_view text) {
    if (writer.find_key(key)) writer.unset(key);
    writer.set_string(key, text.substr(0, kLongestName));
}

// Adds floats in little-endian order, so that the id is the same on every host.
void add_floats(Checksum &sum, const float *values, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        uint8_t bytes[4];
        store_f32le(bytes, values[i]);
        sum.add(bytes, sizeof bytes);
    }
}

// Collects the bytes of a file's head.
class HeadSink final : public gguf::Sink {
public:
    HeadSink(Vector<uint8_t> &out) : out_(out) {}
    void begin(size_t) override {}
    void write(const uint8_t *data, size_t n) override { out_.insert(out_.end(), data, data + n); }
    void end() override {}
    void commit() override {}

private:
    Vector<uint8_t> &out_;
};

} // namespace

Quantization::Quantization(const Ref<gguf::File> &file, const PlanOptions &options,
                           std::string_view imatrix_name, uint64_t reserve_bytes)
    : plan_(file, options), imatrix_name_(imatrix_name.begin(), imatrix_name.end(),
                                          HostAllocator<char>(file->host().get())),
      reserve_bytes_(reserve_bytes) {}

size_t Quantization::n_parts() const {
    return plan_.options().keep_split ? plan_.file().n_parts() : 1;
}

uint32_t Quantization::part_of(size_t tensor) const {
    return n_parts() > 1 ? plan_.tensors()[tensor].source.part : 0;
}

void Quantization::set_imatrix_keys(gguf::Writer &writer) const {
    using gguf::ValueType;
    const Imatrix *imatrix = plan_.options().imatrix.get();
    if (!imatrix || imatrix->entries().empty()) return;
    put_string(writer, "quantize.imatrix.file", {imatrix_name_.data(), imatrix_name_.size()});
    if (imatrix->n_datasets()) put_string(writer, "quantize.imatrix.dataset", imatrix->dataset(0));
    put_number(writer, "quantize.imatrix.entries_count", ValueType::u32, imatrix->entries().size());
    if (imatrix->n_chunks)
        put_number(writer, "quantize.imatrix.chunks_count", ValueType::u32, imatrix->n_chunks);
}

void Quantization::set_calibration_keys(gguf::Writer &writer) const {
    using gguf::ValueType;
    if (calibration_.n_tokens == 0) return;
    put_number(writer, "quantize.feedback.tokens", ValueType::u64, calibration_.n_tokens);
    put_number(writer, "quantize.feedback.context", ValueType::u32, calibration_.n_context);
    put_number(writer, "quantize.feedback.checksum", ValueType::u64, calibration_.checksum);
    put_number(writer, "quantize.feedback.passes", ValueType::u32, calibration_.n_passes);
    if (calibration_.damping > 0)
        put_number(writer, "quantize.feedback.damping", ValueType::f64,
                   std::bit_cast<uint64_t>(calibration_.damping));
}

void Quantization::set_keys(gguf::Writer &writer, size_t part, size_t n_parts,
                            uint64_t split_id) const {
    using gguf::ValueType;
    if (part == 0) {
        writer.copy_meta(plan_.file());
        put_number(writer, "general.quantization_version", ValueType::u32, kQuantizationVersion);
        put_number(writer, "general.file_type", ValueType::u32,
                   static_cast<uint32_t>(plan_.options().file_type->id));
        for (const std::string_view key :
             {std::string_view("split.no"), std::string_view("split.count"),
              std::string_view("split.tensors.count"), gguf::kSplitId})
            if (writer.find_key(key)) writer.unset(key);
        set_imatrix_keys(writer);
        set_calibration_keys(writer);
    } else if (plan_.file().part(0).directory.alignment != 32) {
        writer.set_number("general.alignment", ValueType::u32,
                          plan_.file().part(0).directory.alignment);
    }
    if (n_parts < 2) return;
    writer.set_number("split.no", ValueType::u16, part);
    writer.set_number("split.count", ValueType::u16, n_parts);
    writer.set_number("split.tensors.count", ValueType::i32, plan_.tensors().size());
    writer.set_number(gguf::kSplitId, ValueType::u64, split_id);
}

OutputPart Quantization::make_part(size_t part, size_t first, size_t n_tensors, size_t n_parts,
                                   uint64_t split_id) const {
    gguf::WriterOptions options;
    options.reserve_bytes = part == 0 ? reserve_bytes_ : 0;
    gguf::Writer writer(host(), options);
    set_keys(writer, part, n_parts, split_id);
    writer.reserve_tensors(n_tensors);
    for (size_t i = first; i < first + n_tensors; i++) {
        const PlannedTensor &t = plan_.tensors()[i];
        writer.add_tensor(t.source.name,
                          gguf::shaped_tensor(t.choice.type, t.source.n_dims, t.source.ne), {}, {});
    }
    const gguf::WritePlan plan(writer, {});
    const gguf::PartPlan &file = plan.parts()[0];
    OutputPart made = {first, n_tensors, Vector<uint8_t>(HostAllocator<uint8_t>(host().get())),
                       Vector<uint64_t>(HostAllocator<uint64_t>(host().get())), file.n_bytes};
    HeadSink sink(made.head);
    gguf::emit_head(writer, plan, 0, sink);
    uint64_t at = file.data_offset;
    for (size_t i = first; i < first + n_tensors; i++) {
        made.offsets.push_back(at);
        at += plan_.tensors()[i].n_bytes;
        at += (0 - at) & (plan.alignment() - 1);
    }
    return made;
}

Vector<OutputPart> Quantization::make_parts() const {
    const size_t n = n_parts();
    const uint64_t id = n > 1 ? split_id() : 0;
    Vector<OutputPart> parts{HostAllocator<OutputPart>(host().get())};
    parts.reserve(n);
    for (size_t part = 0, first = 0; part < n; part++) {
        size_t end = first;
        while (end < plan_.tensors().size() && part_of(end) == part) end++;
        parts.push_back(make_part(part, first, end - first, n, id));
        first = end;
    }
    return parts;
}

Vector<char> Quantization::part_path(std::string_view path, size_t part) const {
    if (n_parts() > 1) return gguf::split_part_name(host(), path, part, n_parts());
    return Vector<char>(path.begin(), path.end(), HostAllocator<char>(host().get()));
}

// Returns a checksum of all inputs that determine the bytes of the parts, with only the first bytes
// of each tensor. It is the same for all shards and for a repeated run.
uint64_t Quantization::split_id() const {
    const gguf::Part &source = plan_.file().part(0);
    Checksum sum;
    sum.add(source.bytes, static_cast<size_t>(source.directory.meta_end));
    sum.add_u64(plan_.options().best);
    sum.add_u64(static_cast<uint64_t>(plan_.options().file_type->id));
    sum.add_u64(reserve_bytes_);
    sum.add(imatrix_name_.data(), imatrix_name_.size());
    for (const PlannedTensor &t : plan_.tensors()) {
        const gguf::Tensor &from = t.source;
        sum.add(from.name.data(), from.name.size());
        for (const uint64_t v : {uint64_t{from.type}, uint64_t{t.choice.type}, from.ne[0],
                                 from.ne[1], from.ne[2], from.ne[3]})
            sum.add_u64(v);
        if (from.data)
            sum.add(from.data,
                    static_cast<size_t>(from.n_bytes < kLooked ? from.n_bytes : kLooked));
        if (t.weights) add_floats(sum, t.weights, from.ne[0] * from.ne[2]);
    }
    return sum.value();
}

// Returns a checksum of all inputs that determine the bytes of a part, with only the first and last
// bytes of each tensor.
uint64_t Quantization::fingerprint(const OutputPart &part) const {
    Checksum sum;
    sum.add_u64(plan_.options().best);
    sum.add(part.head.data(), part.head.size());
    for (size_t i = part.first; i < part.first + part.n_tensors; i++) {
        const PlannedTensor &t = plan_.tensors()[i];
        const gguf::Tensor &from = t.source;
        const auto n = static_cast<size_t>(from.n_bytes < kLooked ? from.n_bytes : kLooked);
        sum.add_u64(from.type);
        if (!from.data) continue;
        sum.add(from.data, n);
        sum.add(from.data + from.n_bytes - n, n);
        if (t.weights) sum.add(t.weights, static_cast<size_t>(from.ne[0] * from.ne[2]) * 4);
    }
    return sum.value();
}

} // namespace ggufx::job
