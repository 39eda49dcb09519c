// Checks the layout of tensor data: aligned, inside the file, not overlapping. Gaps and any order
// are accepted unless strict (ggml's reader rejects them).
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "formats/format.hpp"
#include "gguf/reader.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::gguf {

namespace {

// A file may end before its tensor data, as a head for metadata only, if the data start this close
// to the directory.
constexpr uint64_t kMaxHeadPadding = 1 << 20;

class Layout {
public:
    Layout(const Part &part, const OpenOptions &options)
        : part_(part), dir_(part.directory), options_(options) {}

    // Returns the end of the last tensor's data in the file.
    uint64_t check() {
        uint64_t expected = 0; // offset that ggml's writer would use
        uint64_t data_end = dir_.data_offset;
        for (uint32_t i = 0; i < dir_.tensors.size(); i++) {
            const Tensor t = dir_.tensors[i];
            data_end = std::max(data_end, check_tensor(i, t, expected));
            uint64_t end = 0;
            if (!checked::add(&end, expected, t.n_bytes) ||
                !checked::round_up(&expected, end, dir_.alignment))
                expected = UINT64_MAX;
        }
        check_order();
        if (options_.strict && !options_.metadata_only) check_final_padding(expected);
        return data_end;
    }

private:
    // Returns the end of the tensor's data.
    uint64_t check_tensor(uint32_t i, const Tensor &t, uint64_t expected) const {
        if (t.offset % dir_.alignment != 0)
            fail_offset(Status::offset, i, "is not a multiple of the alignment", dir_.alignment);
        if (options_.strict && t.offset != expected)
            fail_offset(Status::offset, i, "is not where strict mode expects it, as ggml does, at",
                        expected);
        uint64_t end = 0;
        if (!checked::add(&end, t.offset, t.n_bytes) ||
            !checked::add(&end, end, dir_.data_offset) || end > INT64_MAX)
            fail_offset(Status::bounds, i, "ends beyond 2^63 - 1; its bytes are", t.n_bytes);
        // With metadata_only the head of a file is enough.
        if (!options_.metadata_only && end > part_.size) fail_bounds(i, end, t.offset == expected);
        return end;
    }

    // Reports the field at fault: an offset that no writer would use, or an implausible size;
    // otherwise the end of the file, which was truncated.
    [[noreturn]] void fail_bounds(uint32_t i, uint64_t end, bool expected) const {
        const Tensor t = dir_.tensors[i];
        const TensorFields at = fields(i);
        const bool absurd = t.n_bytes / kPlausibleTimes > part_.size;
        const uint64_t where = !expected ? at.offset : absurd ? at.dims : part_.size;
        fail(Status::bounds, {.offset = where, .index = i},
             "tensor %" PRIu32 " \"%s\": offset %" PRIu64 " + %" PRIu64 " bytes end at %" PRIu64
             " after the file (%" PRIu64 " bytes)",
             i, Quoted(t.name).c_str(), t.offset, t.n_bytes, end, part_.size);
    }

    // Checks that no tensor overlaps the previous one, in order of offsets.
    void check_order() const {
        Vector<uint32_t> order((HostAllocator<uint32_t>(part_.host.get())));
        bool all_known = true;
        for (uint32_t i = 0; i < dir_.tensors.size(); i++) {
            if (dir_.tensors[i].n_bytes > 0) order.push_back(i);
            all_known = all_known && fmt::type_info(dir_.tensors.type(i));
        }
        const auto before = [&](uint32_t a, uint32_t b) {
            const uint64_t x = dir_.tensors.offset(a), y = dir_.tensors.offset(b);
            return x != y ? x < y : a < b;
        };
        if (!std::is_sorted(order.begin(), order.end(), before))
            std::sort(order.begin(), order.end(), before);
        uint64_t end = 0, padded = 0; // end of the previous tensor
        for (const uint32_t i : order) {
            const Tensor t = dir_.tensors[i];
            if (t.offset < end)
                fail_offset(Status::offset, i, "overlaps the tensor before it, which ends at", end);
            end = t.end();
            // Data beyond the end of a head must at least be where a writer would have put them.
            if (all_known && t.offset != padded && dir_.data_offset + end > part_.size)
                fail_bounds(i, dir_.data_offset + end, false);
            if (!checked::round_up(&padded, end, dir_.alignment)) padded = UINT64_MAX;
        }
    }

    void check_final_padding(uint64_t expected) const {
        uint64_t end = 0;
        if (!checked::add(&end, dir_.data_offset, expected) || end > part_.size)
            fail(Status::truncated, {.offset = part_.size},
                 "the padding after the last tensor ends at %" PRIu64 ", after the file (%" PRIu64
                 " bytes), which strict mode refuses as ggml does",
                 end, part_.size);
    }

    TensorFields fields(uint32_t i) const {
        const Tensor t = dir_.tensors[i];
        return {t, t.name.size(), dir_.wire};
    }

    [[noreturn]] void fail_offset(Status status, uint32_t i, const char *what,
                                  uint64_t limit) const {
        const Tensor t = dir_.tensors[i];
        fail(status, {.offset = fields(i).offset, .index = i},
             "tensor %" PRIu32 " \"%s\": offset %" PRIu64 " %s %" PRIu64, i, Quoted(t.name).c_str(),
             t.offset, what, limit);
    }

    const Part &part_;
    const Directory &dir_;
    const OpenOptions &options_;
};

} // namespace

void check_layout(Part &part, const OpenOptions &options) {
    Directory &dir = part.directory;
    dir.data_offset = dir.meta_end;
    if (dir.n_tensors == 0) return;
    if (!checked::round_up(&dir.data_offset, dir.meta_end, dir.alignment))
        fail(Status::alignment, {}, "general.alignment %" PRIu64 " is too large", dir.alignment);
    const bool head = options.metadata_only && dir.data_offset - dir.meta_end < kMaxHeadPadding;
    if (dir.data_offset > part.size && !head)
        fail(Status::bounds, {.offset = part.size},
             "tensor data start at offset %" PRIu64 " (directory end %" PRIu64
             ", alignment %" PRIu64 "), after the end of the file (%" PRIu64 " bytes)",
             dir.data_offset, dir.meta_end, dir.alignment, part.size);
    const uint64_t end = Layout(part, options).check();
    part.n_missing = end > part.size ? end - part.size : 0;
}

} // namespace ggufx::gguf
