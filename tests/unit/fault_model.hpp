// A tiny model of a runtime whose allocator counts and fails on request. At the end every block must
// be free.
// SPDX-License-Identifier: MIT
#pragma once

#include "tiny_files.hpp"

extern "C" {
#include "fault.h"
}

struct FaultModel {
    const TinyFile &tiny;
    fault memory;
    ggufx_runtime *rt;
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;

    explicit FaultModel(const TinyFile &of) : tiny(of) {
        fault_init(&memory);
        rt = fault_runtime(&memory, 1);
        ggufx_error error;
        must(ggufx_open(&file, rt, (g_root + of.path).c_str(), nullptr, &error), error, "open");
        must(ggufx_model_create(&model, rt, file, nullptr, &error), error, "model");
    }
    FaultModel(const FaultModel &) = delete;
    ~FaultModel() {
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
        ggufx_runtime_destroy(rt);
        CHECK(memory.live == 0, "%s: %ld blocks left", tiny.name.c_str(), memory.live);
    }
};
