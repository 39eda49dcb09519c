// Decides which edits fit in place, and builds the new head of the file.
// SPDX-License-Identifier: MIT
#include "gguf/edit.hpp"

namespace ggufx::gguf {

namespace {

constexpr uint64_t kReserveEntry = 8 + kReserveKey.size() + 4 + 4 + 8; // bytes before its zeros

uint64_t aligned(uint64_t n, uint64_t alignment) {
    return (n + alignment - 1) / alignment * alignment;
}

// Returns whether the writer's tensors are those of the file, with data at the same offsets.
bool same_tensors(const Writer &writer, const File &file) {
    if (writer.tensors().size() != file.n_tensors()) return false;
    const uint64_t alignment = file.part(0).directory.alignment;
    uint64_t offset = 0;
    for (size_t i = 0; i < file.n_tensors(); i++) {
        const Tensor &ours = writer.tensors()[i].view, there = file.tensor(i);
        if (writer.tensors()[i].stream.read || ours.type != there.type ||
            ours.n_dims != there.n_dims || ours.data != there.data ||
            ours.row_stride != there.row_stride || there.offset != offset)
            return false;
        for (size_t d = 0; d < 4; d++)
            if (ours.ne[d] != there.ne[d]) return false;
        offset += aligned(there.n_bytes, alignment);
    }
    return true;
}

const char *obstacle(const Writer &writer, const File &file) {
    if (file.n_parts() != 1) return "a set of files";
    const Directory &dir = file.part(0).directory;
    if (dir.version != writer.options().version) return "another version";
    if (dir.wire.big_endian != writer.options().big_endian) return "another byte order";
    if (file.n_tensors() == 0) return "no tensors";
    if (file.metadata_only()) return "data not in memory";
    if (dir.alignment != writer.alignment()) return "another alignment";
    if (writer.options().reserve_bytes) return "another reserve is requested";
    if (file.find_meta(kReserveKey) != kNotFound && !writer.find_key(kReserveKey))
        return "the reserve is given up";
    if (!same_tensors(writer, file)) return "other tensors";
    return nullptr;
}

} // namespace

EditPlan plan_edit(const Writer &writer, const File &file) {
    EditPlan plan;
    if (const char *why = obstacle(writer, file)) {
        plan.why = why;
        return plan;
    }
    const Directory &dir = file.part(0).directory;
    const WritePlan whole(writer, {}); // checks the limits too
    const WriterKey *reserve = writer.find_key(kReserveKey);
    plan.meta_end = whole.parts()[0].meta_end - (reserve ? reserve->bytes.size() : 0);
    const bool exact = aligned(plan.meta_end, dir.alignment) == dir.data_offset;
    const bool room = plan.meta_end + kReserveEntry <= dir.data_offset;
    plan.has_reserve = room && (reserve || !exact);
    plan.in_place = plan.has_reserve || exact;
    if (plan.has_reserve) plan.reserve = dir.data_offset - plan.meta_end - kReserveEntry;
    if (!plan.in_place) plan.why = "no room before the tensor data";
    return plan;
}

void make_head(Vector<uint8_t> &out, const Writer &writer, const File &file, const EditPlan &plan) {
    const Wire &wire = writer.wire();
    const Directory &dir = file.part(0).directory;
    uint64_t n_keys = plan.has_reserve;
    for (const WriterKey &key : writer.keys()) n_keys += key.name() != kReserveKey;
    out.reserve(static_cast<size_t>(dir.data_offset));
    for (const char c : std::string_view("GGUF")) out.push_back(static_cast<uint8_t>(c));
    put_number(out, wire, writer.options().version, 4);
    put_number(out, wire, writer.tensors().size(), 8);
    put_number(out, wire, n_keys, 8);
    for (const WriterKey &key : writer.keys())
        if (key.name() != kReserveKey) out.insert(out.end(), key.bytes.begin(), key.bytes.end());
    if (plan.has_reserve) {
        put_string(out, wire, kReserveKey);
        put_number(out, wire, static_cast<uint64_t>(ValueType::array), 4);
        put_number(out, wire, static_cast<uint64_t>(ValueType::u8), 4);
        put_number(out, wire, plan.reserve, 8);
        out.resize(out.size() + static_cast<size_t>(plan.reserve), 0);
    }
    for (size_t i = 0; i < writer.tensors().size(); i++) {
        const WriterTensor &t = writer.tensors()[i];
        put_string(out, wire, t.name());
        put_number(out, wire, t.view.n_dims, 4);
        for (uint32_t d = 0; d < t.view.n_dims; d++) put_number(out, wire, t.view.ne[d], 8);
        put_number(out, wire, t.view.type, 4);
        put_number(out, wire, file.tensor(i).offset, 8);
    }
    out.resize(static_cast<size_t>(dir.data_offset), 0);
}

} // namespace ggufx::gguf
