// Shared by the benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/memory_read.hpp"

#include <cstdint>

namespace ggufx::cli {

// Bytes of cold memory: more than any last-level cache, and well above 600 MB.
constexpr size_t kColdBytes = size_t{640} << 20;

void add_bench_read(Tool &tool, Command &bench);
void add_bench_all(Tool &tool, Command &bench);
void add_bench_matvec(Tool &tool, Command &bench); // and matmul
void add_bench_dequant(Tool &tool, Command &bench);
void add_bench_quantize(Tool &tool, Command &bench);
void add_bench_kv(Tool &tool, Command &bench);
void add_bench_open(Tool &tool, Command &bench);
void add_bench_tokenize(Tool &tool, Command &bench);
void add_bench_grammar(Tool &tool, Command &bench);
void add_bench_sampler(Tool &tool, Command &bench);
void add_bench_model(Tool &tool, Command &bench);
void add_bench_make_model(Tool &tool, Command &bench);

} // namespace ggufx::cli
