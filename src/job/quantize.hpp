// A quantization job: its plan, the files it writes, and the runs that write them. quantize.cpp:
// contents of the files; run.cpp: writing them.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/writer.hpp"
#include "job/block_maker.hpp"
#include "job/journal.hpp"
#include "job/rows.hpp"

namespace ggufx::job {

struct RunOptions {
    bool resume = false, keep = false, measure = false;
    uint32_t shard = 0, n_shards = 0; // n_shards 0: not sharded
    Progress progress;
    void *user = nullptr;
    int32_t (*tensor_done)(void *user, size_t index) = nullptr;
    BlockMaker *maker = nullptr; // makes some of the tensors first; not with shards
};

// Text and options by which blocks of some tensors are made, for the keys quantize.feedback.*.
struct Calibration {
    uint64_t n_tokens = 0; // 0: none
    uint64_t checksum = 0; // CRC-64 of the tokens
    uint32_t n_context = 0, n_passes = 0;
    double damping = 0;
};

// One output file: its metadata, and the offsets of its tensors.
struct OutputPart {
    size_t first, n_tensors; // range of the plan's tensors
    Vector<uint8_t> head;    // all bytes before the data
    Vector<uint64_t> offsets;
    uint64_t n_bytes;
};

class Quantization {
public:
    Quantization(const Ref<gguf::File> &file, const PlanOptions &options,
                 std::string_view imatrix_name, uint64_t reserve_bytes);

    const Plan &plan() const { return plan_; }
    // Describes a calibration of the following runs in the keys of the file.
    void set_calibration(const Calibration &calibration) { calibration_ = calibration; }
    void choose(const uint32_t *types) { plan_.choose(types); }
    Vector<OutputPart> make_parts() const;
    uint32_t part_of(size_t tensor) const;
    size_t n_parts() const;

    void run(const matmul::Engine &engine, const char *path, const RunOptions &options);
    void finish(const matmul::Engine &engine, const char *path, const Progress &progress);

private:
    friend class Run;
    void set_keys(gguf::Writer &writer, size_t part, size_t n_parts, uint64_t split_id) const;
    void set_imatrix_keys(gguf::Writer &writer) const;
    void set_calibration_keys(gguf::Writer &writer) const;
    OutputPart make_part(size_t part, size_t first, size_t n_tensors, size_t n_parts,
                         uint64_t split_id) const;
    uint64_t split_id() const; // the same for all parts
    Vector<char> part_path(std::string_view path, size_t part) const;
    uint64_t fingerprint(const OutputPart &part) const;

    const Ref<Host> &host() const { return plan_.file().host(); }
    Plan plan_;
    Vector<char> imatrix_name_;
    uint64_t reserve_bytes_;
    Calibration calibration_;
};

} // namespace ggufx::job
