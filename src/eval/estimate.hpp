// Estimates the memory of a model under a quantization recipe, and recommends the candidate with
// the least loss within a limit. Contracts: include/ggufx/estimate.h. Sizes come from the functions
// that allocations use.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_bytes.hpp"
#include "eval/outline.hpp"
#include "job/plan_sums.hpp"
#include "job/quantize.hpp"
#include "run/embedder.hpp"
#include "run/placement.hpp"
#include "run/session.hpp"

namespace ggufx::model {

struct EstimateOptions {
    const quant::FileTypeInfo *file_type = nullptr; // null: the tensors stay as they are
    job::PlanOptions plan;                          // its file_type follows from the one above
    std::string_view imatrix_name;
    uint64_t reserve_bytes = 0;
    SessionOptions session; // types 0: F16; recommend() chooses if both are 0
    uint32_t n_sessions = 1;
    uint64_t memory_bytes = UINT64_MAX;
    double bandwidth = 0;
    uint64_t device_memory_bytes = 0; // 0: no device
    // Sizes of the handles around Model, Session, Embedder and Adapter.
    size_t model_object = 0, session_object = 0, embedder_object = 0, adapter_object = 0;
    const Ref<gguf::File> *adapters = nullptr; // [n_adapters], used together
    size_t n_adapters = 0;
    RankOptions ranks;
    size_t group_object = 0;
};

// Layers that fit into device memory: none, or the last n layers.
struct DeviceFit {
    uint64_t bytes = 0, bytes_all = 0;
    uint32_t n_layers = 0;
};

// Size of the weights under one recipe, or unchanged.
struct WeightBytes {
    const quant::FileTypeInfo *file_type = nullptr; // null: unchanged
    job::PlanSums sums;
    uint64_t file = 0;
    DeviceFit device;
    RankBytes rank; // part of this rank
};

struct Estimate {
    WeightBytes weights;
    bool has_graph = false;
    uint32_t n_context = 0, n_batch = 0, n_sessions = 0, type_k = 0, type_v = 0;
    uint32_t max_context = 0;
    uint64_t runtime = 0, model = 0, caches = 0, sessions = 0, total = 0;
    uint64_t adapter_files = 0, adapters = 0;
    uint64_t rank_weights = 0;
    uint64_t token_weights = 0, token_kv = 0;
    double bits_per_weight = 0, loss = 0, tokens_per_second = 0, tokens_per_second_full = 0;
};

class Estimator {
public:
    // Throws what read_outline does.
    Estimator(const Ref<gguf::File> &file, const matmul::Engine &engine,
              const EstimateOptions &options);

    // Estimates the options' own file type and KV types. Throws Error.
    Estimate estimate() const;
    // Throws Error; capacity if nothing fits.
    Estimate recommend() const;
    uint32_t n_layers() const { return shape().n_layers; }

private:
    struct Best;

    WeightBytes weigh(const quant::FileTypeInfo *file_type) const;
    DeviceFit fit_device(const job::Plan &plan) const;
    Vector<WeightBytes> candidates() const;
    Vector<SessionOptions> sessions_to_try() const;
    Estimate combine(const WeightBytes &weights, const SessionOptions &session) const;
    Estimate finish(Estimate estimate) const;
    bool is_rank() const { return options_.ranks.size > 1; }
    void add_embedders(Estimate &out, const SessionOptions &session) const;
    void add_sessions(Estimate &out, const SessionOptions &session) const;
    void add_adapters(Estimate &out) const;
    uint32_t max_context(const Estimate &estimate) const;
    [[noreturn]] void fail_capacity(const Estimate &smallest) const;

    Ref<gguf::File> file_;
    const matmul::Engine &engine_;
    const EstimateOptions &options_;
    const Shape &shape() const { return outline_.graph.shape; }

    Outline outline_;
    Places places_; // for the file's tensors
    // Adapters: files, objects, and the scratch that their sets need.
    uint64_t adapter_files_ = 0, adapter_objects_ = 0;
    AdapterRoom adapter_room_;
};

} // namespace ggufx::model
