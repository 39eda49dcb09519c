// SPDX-License-Identifier: MIT
#include "job/quantize.hpp"

#include "gguf/shape.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx::job {

namespace {

constexpr uint32_t kQuantizationVersion = 2;
constexpr size_t kLongestName = 127; // the reference's limit for strings it sets itself

// As the reference does: away with what was there, then behind the other keys.
void put_number(gguf::Writer &writer, std::string_view key, gguf::ValueType type, uint64_t value) {
    if (writer.find_key(key)) writer.unset(key);
    writer.set_number(key, type, value);
}
void put_string(gguf::Writer &writer, std::string_view key, std::string_view text) {
    if (writer.find_key(key)) writer.unset(key);
    writer.set_string(key, text.substr(0, kLongestName));
}

// Keeps the first bytes of a file, then has seen enough.
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
    : plan_(file, options),
      imatrix_name_(imatrix_name.begin(), imatrix_name.end(),
                    HostAllocator<char>(file->host().get())),
      reserve_bytes_(reserve_bytes) {}

size_t Quantization::n_parts() const {
    return plan_.options().keep_split ? plan_.file().n_parts() : 1;
}

uint32_t Quantization::part_of(size_t tensor) const {
    return n_parts() > 1 ? plan_.tensors()[tensor].source->part : 0;
}

void Quantization::set_imatrix_keys(gguf::Writer &writer) const {
    using gguf::ValueType;
    const Imatrix *imatrix = plan_.options().imatrix.get();
    if (!imatrix || imatrix->entries().empty()) return;
    put_string(writer, "quantize.imatrix.file", {imatrix_name_.data(), imatrix_name_.size()});
    if (imatrix->n_datasets())
        put_string(writer, "quantize.imatrix.dataset", imatrix->dataset(0));
    put_number(writer, "quantize.imatrix.entries_count", ValueType::u32,
               imatrix->entries().size());
    if (imatrix->n_chunks)
        put_number(writer, "quantize.imatrix.chunks_count", ValueType::u32, imatrix->n_chunks);
}

void Quantization::set_keys(gguf::Writer &writer, size_t part, size_t n_parts) const {
    using gguf::ValueType;
    if (part == 0) {
        writer.copy_meta(plan_.file());
        put_number(writer, "general.quantization_version", ValueType::u32, kQuantizationVersion);
        put_number(writer, "general.file_type", ValueType::u32,
                   static_cast<uint32_t>(plan_.options().file_type->id));
        for (const char *key : {"split.no", "split.count", "split.tensors.count"})
            if (writer.find_key(key)) writer.unset(key);
        set_imatrix_keys(writer);
    } else if (plan_.file().part(0).directory.alignment != 32) {
        writer.set_number("general.alignment", ValueType::u32,
                          plan_.file().part(0).directory.alignment);
    }
    if (n_parts < 2) return;
    writer.set_number("split.no", ValueType::u16, part);
    writer.set_number("split.count", ValueType::u16, n_parts);
    writer.set_number("split.tensors.count", ValueType::i32, plan_.tensors().size());
}

OutputPart Quantization::make_part(size_t part, size_t first, size_t n_tensors,
                                   size_t n_parts) const {
    gguf::WriterOptions options;
    options.reserve_bytes = part == 0 ? reserve_bytes_ : 0;
    gguf::Writer writer(host(), options);
    set_keys(writer, part, n_parts);
    writer.reserve_tensors(n_tensors);
    for (size_t i = first; i < first + n_tensors; i++) {
        const PlannedTensor &t = plan_.tensors()[i];
        writer.add_tensor(t.source->name,
                          gguf::shaped_tensor(t.choice.type, t.source->n_dims, t.source->ne), {},
                          {});
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
    Vector<OutputPart> parts{HostAllocator<OutputPart>(host().get())};
    parts.reserve(n);
    for (size_t part = 0, first = 0; part < n; part++) {
        size_t end = first;
        while (end < plan_.tensors().size() && part_of(end) == part) end++;
        parts.push_back(make_part(part, first, end - first, n));
        first = end;
    }
    return parts;
}

Vector<char> Quantization::part_path(std::string_view path, size_t part) const {
    Vector<char> name(path.begin(), path.end(), HostAllocator<char>(host().get()));
    if (n_parts() < 2) return name;
    constexpr std::string_view kSuffix = ".gguf";
    char tail[40];
    snprintf(tail, sizeof tail, "-%05u-of-%05u.gguf", static_cast<unsigned>(part + 1),
             static_cast<unsigned>(n_parts()));
    if (path.ends_with(kSuffix)) name.resize(path.size() - kSuffix.size());
    name.insert(name.end(), tail, tail + strlen(tail));
    return name;
}

// Of everything the bytes of a part follow from; of the tensors' data some from either end.
uint64_t Quantization::fingerprint(const OutputPart &part) const {
    constexpr uint64_t kLooked = 4096;
    Checksum sum;
    sum.add_u64(plan_.options().best);
    sum.add(part.head.data(), part.head.size());
    for (size_t i = part.first; i < part.first + part.n_tensors; i++) {
        const PlannedTensor &t = plan_.tensors()[i];
        const gguf::Tensor &from = *t.source;
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
