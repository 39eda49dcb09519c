// SPDX-License-Identifier: MIT
#include "rank.hpp"

Rank::Rank(const std::string &path, const RankOptions &options) {
    ggufx_runtime_options runtime = {};
    runtime.struct_size = sizeof runtime;
    runtime.threads = 1;
    runtime.allocator = options.allocator;
    runtime.executor = options.executor;
    status_ = ggufx_runtime_create(&rt_, &runtime, &error_);
    if (status_ == GGUFX_OK) status_ = ggufx_open(&file_, rt_, path.c_str(), nullptr, &error_);
    if (status_ != GGUFX_OK && options.group) { // the other ranks wait
        const ggufx_group hooks = options.group->hooks(options.rank);
        hooks.abort(hooks.user, &error_);
        hooks.destroy(hooks.user);
    }
    if (status_ != GGUFX_OK) return;
    ggufx_model_options model = {};
    model.struct_size = sizeof model;
    ggufx_group_options how = {};
    how.struct_size = sizeof how;
    ggufx_group hooks = {};
    if (options.group) {
        hooks = options.group->hooks(options.rank);
        hooks.flags = options.group_flags;
        how.group = &hooks;
        how.flags = options.flags;
        how.weights = options.speeds;
        how.timeout_ms = how.start_timeout_ms = options.timeout_ms;
        model.group = &how;
    }
    status_ = ggufx_model_create(&model_, rt_, file_, &model, &error_);
}

Rank::~Rank() {
    ggufx_model_destroy(model_);
    ggufx_file_destroy(file_);
    ggufx_runtime_destroy(rt_);
}
