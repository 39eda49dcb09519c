// Implementation of machines.hpp.
// SPDX-License-Identifier: MIT
#include "machines.hpp"

namespace {

// Runs tasks from the last to the first, as the workers of a pool in turn.
ggufx_status run_backwards(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                           void *context) {
    const uint32_t workers = static_cast<const ggufx_executor *>(user)->max_workers;
    for (uint32_t i = n; i-- > 0;) task(context, i, i % workers);
    return GGUFX_OK;
}

} // namespace

Machine::Machine(std::string called, int32_t isa, uint32_t threads, uint32_t workers)
    : name(std::move(called)) {
    ggufx_runtime_options options = {};
    options.struct_size = sizeof options;
    options.isa = isa;
    options.threads = threads;
    if (workers) {
        executor = std::make_unique<ggufx_executor>();
        executor->struct_size = sizeof *executor;
        executor->max_workers = workers;
        executor->user = executor.get();
        executor->parallel_for = run_backwards;
        options.executor = executor.get();
    }
    ggufx_error error;
    const ggufx_status status = ggufx_runtime_create(&runtime, &options, &error);
    if (status != GGUFX_E_UNSUPPORTED) must(status, error, name.c_str());
}

Machines machines() {
    Machines all;
    const auto add = [&](const char *name, int32_t isa, uint32_t threads, uint32_t workers) {
        auto machine = std::make_unique<Machine>(name, isa, threads, workers);
        if (machine->runtime) all.push_back(std::move(machine));
    };
#define GGUFX_INSTRUCTION_SET(name, constant, value) add(#name, GGUFX_ISA_##constant, 1, 0);
#include "../../src/kernels/sets.def"
#undef GGUFX_INSTRUCTION_SET
    add("1 thread", GGUFX_ISA_BEST, 1, 0);
    add("2 threads", GGUFX_ISA_BEST, 2, 0);
    add("3 workers", GGUFX_ISA_BEST, 0, 3);
    add("8 workers", GGUFX_ISA_BEST, 0, 8);
    return all;
}
