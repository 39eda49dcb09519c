// The three API calls measured by the demo, on the embedded model.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/demo_model.hpp"

namespace ggufx::cli {

struct DemoCall {
    std::string name;
    std::string what;
    double seconds; // time of one call
    uint64_t bytes; // bytes read or written
    std::string speed;
};

// Each appends its measurement to the list.
File demo_open(const ggufx_runtime *rt, std::vector<DemoCall> &calls);
void demo_matvec(const ggufx_runtime *rt, const ggufx_file *file, std::vector<DemoCall> &calls);
void demo_kv_append(const ggufx_runtime *rt, const ggufx_model_facts &model,
                    std::vector<DemoCall> &calls);

} // namespace ggufx::cli
