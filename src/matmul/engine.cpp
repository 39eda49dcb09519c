// Creation and destruction of the engine, and the checks shared by products and dequantization.
// SPDX-License-Identifier: MIT
#include "matmul/engine.hpp"

#include <inttypes.h>

namespace ggufx::matmul {

Engine *Engine::create(const Ref<Host> &host, const kernels::Kernels *kernels,
                       uint64_t workspace_bytes) {
    auto *engine = static_cast<Engine *>(host->alloc(sizeof(Engine), alignof(Engine)));
    if (!engine) throw std::bad_alloc();
    new (engine) Engine;
    try {
        engine->state_ = make<State>(*host, host, kernels, workspace_bytes);
    } catch (...) {
        host->free(engine, sizeof(Engine), alignof(Engine));
        throw;
    }
    return engine;
}

void Engine::destroy(Engine *engine) {
    if (!engine) return;
    const Ref<Host> host = engine->state_->host; // outlives the memory it frees
    unmake(*host, engine->state_);
    host->free(engine, sizeof(Engine), alignof(Engine));
}

const Host &Engine::host() const {
    return *state_->host;
}

const kernels::Kernels &Engine::kernels() const {
    return *state_->kernels;
}

uint64_t Engine::workspace_bytes() const {
    return state_->workspace.per_call();
}

uint64_t Engine::memory_bytes() const {
    return state_->workspace.all();
}

namespace {

Status bad_type(uint32_t type, Failure *failure) {
    if (const char *text = fmt::removed_type_text(type)) {
        return set_failure(failure, Status::type, {}, "tensor type %" PRIu32 ": %s", type, text);
    }
    return set_failure(failure, Status::type, {}, "tensor type %" PRIu32 " is unknown", type);
}

} // namespace

Status check(const fmt::TypeInfo **type, const Weights &w, Failure *failure) {
    *type = fmt::type_info(w.type);
    if (!*type) return bad_type(w.type, failure);
    uint64_t row_bytes;
    if (w.n_cols > SIZE_MAX / 16 || w.n_rows > SIZE_MAX / 16 ||
        !fmt::row_bytes(&row_bytes, **type, w.n_cols)) {
        return set_failure(failure, Status::shape, {},
                           "a row of %" PRIu64 " values is not whole %s blocks of %" PRIu32
                           " or too long",
                           w.n_cols, (*type)->name, (*type)->block_values);
    }
    if (w.n_rows == 0) return Status::ok;
    if (!w.data && row_bytes != 0 && !w.remote.home) {
        return set_failure(failure, Status::unsupported, {}, "the weights are not in memory");
    }
    if (w.stride < row_bytes || w.stride > SIZE_MAX / w.n_rows) {
        return set_failure(failure, Status::argument, {},
                           "row stride %" PRIu64 " does not fit %" PRIu64 " rows of %" PRIu64
                           " bytes",
                           w.stride, w.n_rows, row_bytes);
    }
    return Status::ok;
}

} // namespace ggufx::matmul
