// A runtime of one thread with a file and a model: the whole model, or a rank's part.
// SPDX-License-Identifier: MIT
#pragma once

#include "decode_ids.h"
#include "thread_group.hpp"

#include <ggufx/ggufx.h>

// Options of a rank; no group: the whole model.
struct RankOptions {
    ThreadGroup *group = nullptr;
    uint32_t rank = 0;
    const uint32_t *speeds = nullptr;
    uint32_t timeout_ms = 20000; // enough for sanitizers
    const ggufx_allocator *allocator = nullptr;
    uint32_t flags = 0; // GGUFX_GROUP_PIPELINE
    const ggufx_executor *executor = nullptr;
    uint32_t group_flags = 0;
};

class Rank {
public:
    explicit Rank(const std::string &path, const RankOptions &options = {});
    Rank(const Rank &) = delete;
    ~Rank();

    // Null if creating it failed.
    const ggufx_model *model() const { return model_; }
    const ggufx_file *file() const { return file_; }
    ggufx_status status() const { return status_; }
    const ggufx_error &error() const { return error_; }

private:
    ggufx_runtime *rt_ = nullptr;
    ggufx_file *file_ = nullptr;
    ggufx_model *model_ = nullptr;
    ggufx_status status_ = GGUFX_OK;
    ggufx_error error_ = {};
};
