// Ways to compute, whose bits must be equal: instruction sets, threads, executors.
// SPDX-License-Identifier: MIT
#pragma once

#include "oracle.hpp"

#include <memory>

// Runtimes of sets that the machine lacks are null.
struct Machine {
    std::string name;
    std::unique_ptr<ggufx_executor> executor;
    ggufx_runtime *runtime = nullptr;

    // workers 0: threads of the runtime's own.
    Machine(std::string called, int32_t isa, uint32_t threads, uint32_t workers);
    Machine(const Machine &) = delete;
    ~Machine() { ggufx_runtime_destroy(runtime); }
};

using Machines = std::vector<std::unique_ptr<Machine>>;

// The first one is what others are compared with. Own threads are not more than processors, so more
// workers are an executor's.
Machines machines();
