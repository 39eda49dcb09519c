// A file as a program of its architecture: weights are checked views into the file. Immutable.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/build/binder.hpp"
#include "model/build/keys.hpp"
#include "model/group/group.hpp"
#include "model/placement.hpp"
#include "model/steps/exchange.hpp"

namespace ggufx::model {

// Is there a program for it? Names as in general.architecture.
bool has_architecture(std::string_view name);

// Throws Error (unsupported, missing, kvtype, hparam, shape, type, split) / std::bad_alloc. Without
// data, of a file opened for metadata only, the program can be weighed and shown, not run; with
// them their absence is an error (argument).
// The part of a rank, of ranks of these speeds (null: equal ones).
struct RankOptions {
    uint32_t rank = 0, size = 1;
    const uint32_t *speeds = nullptr;
};
struct BuildOptions {
    bool with_data = false;
    Override *overrides = nullptr; // [n_overrides]
    size_t n_overrides = 0;
    Progress progress;      // layers
    Roles *roles = nullptr; // filled: what the program uses each tensor for
    RankOptions ranks;
    Placer *placer = nullptr; // of a model: what the last layers multiply by goes there
    uint32_t n_placed_layers = 0;
};
Program build_program(const gguf::File &file, const BuildOptions &options);

// What the program of a file's architecture uses each of its tensors for; empty where there is no
// program, or none of this file: then their names tell. Throws std::bad_alloc.
Roles roles_of(const gguf::File &file);

class Model {
public:
    // engine and ranks, which may be null, must outlive the model. Throws Error / std::bad_alloc.
    Model(Ref<gguf::File> file, const Ref<Host> &host, const matmul::Engine &engine,
          RankGroup *ranks, const BuildOptions &options);

    const gguf::File &file() const { return *file_; }
    const Program &program() const { return program_; }
    const Shape &shape() const { return program_.shape; }
    const matmul::Engine &engine() const { return engine_; }
    const Ref<Host> &host() const { return host_; }
    uint64_t identity() const { return identity_; } // of the whole, for each rank the same

    // Of a model that several ranks run together; null alone.
    RankGroup *ranks() const { return ranks_; }
    const ExchangeMemory *exchange_memory() const { return &exchange_memory_; }

private:
    Ref<gguf::File> file_;
    Ref<Host> host_;
    const matmul::Engine &engine_;
    const Program program_;
    uint64_t identity_;
    RankGroup *const ranks_;
    const ExchangeMemory exchange_memory_;
};

} // namespace ggufx::model
