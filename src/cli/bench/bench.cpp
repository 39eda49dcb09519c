// ggufx bench: the group of benchmark commands.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"

namespace ggufx::cli {

void add_bench(Tool &tool) {
    Command bench = tool.app.add_command(
        "bench", "measure products, quantization, attention, memory reads and more");
    bench.require_command();
    add_bench_all(tool, bench);
    add_bench_matvec(tool, bench);
    add_bench_dequant(tool, bench);
    add_bench_quantize(tool, bench);
    add_bench_kv(tool, bench);
    add_bench_read(tool, bench);
    add_bench_open(tool, bench);
    add_bench_tokenize(tool, bench);
    add_bench_grammar(tool, bench);
    add_bench_sampler(tool, bench);
    add_bench_model(tool, bench);
    add_bench_make_model(tool, bench);
}

} // namespace ggufx::cli
