// Configurations whose results must be bit-identical: instruction sets, threads, executors.
// SPDX-License-Identifier: MIT
#pragma once

#include "oracle.hpp"

#include <memory>

// Runtimes of unsupported instruction sets are null.
struct Machine {
    std::string name;
    std::unique_ptr<ggufx_executor> executor;
    ggufx_runtime *runtime = nullptr;

    // workers 0: the runtime's own threads.
    Machine(std::string called, int32_t isa, uint32_t threads, uint32_t workers);
    Machine(const Machine &) = delete;
    ~Machine() { ggufx_runtime_destroy(runtime); }
};

using Machines = std::vector<std::unique_ptr<Machine>>;

// Returns all machines; the first one is the reference. The runtime has at most one thread per
// processor, so more workers come from an executor.
Machines machines();
