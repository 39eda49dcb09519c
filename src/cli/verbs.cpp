// The tool's command line: options of all verbs, and the verbs in the order of the help.
// SPDX-License-Identifier: MIT
#include "verbs.hpp"

namespace ggufx::cli {

static void add_common_options(Command app, Globals &globals) {
    app.flag("--json", globals.json, "print JSON (\"schema\": 1)");
    app.option("-o,--output", globals.output, "write data to FILE instead of stdout (-)")
        .value("FILE");
    app.option("-t,--threads", globals.thread_counts,
               "threads, 0 = one per processor (bench: also a list); default 0")
        .list()
        .between(0, 4096);
    app.option("--isa", globals.isa,
               "best, scalar, avx2, avxvnni, avx512, neon, neon_dot or neon_i8mm (bench: also "
               "all, a list); default best")
        .value("ISA");
    app.flag("--force", globals.force, "replace existing output files");
    app.flag("-q,--quiet", globals.quiet, "no progress, no remarks");
    app.flag("-v,--verbose", globals.verbose, "show the library's messages on stderr");
    app.option("--color", globals.color, "colours; default auto: on a terminal")
        .one_of({"auto", "always", "never"});
    app.option("--progress", globals.progress, "progress on stderr; default auto: on a terminal")
        .one_of({"auto", "always", "never", "json"});
}

void add_everything(Tool &tool) {
    tool.app.examples("  ggufx demo\n  ggufx info model.gguf\n"
                      "  ggufx run model.gguf -p \"Once upon a time\" --temp 0");
    add_common_options(tool.app, tool.globals);
    add_demo(tool);
    add_info(tool);
    add_validate(tool);
    add_run(tool);
    add_chat(tool);
#if GGUFX_CLI_SERVE
    add_serve(tool);
#endif
    add_tokenize(tool);
    add_perplexity(tool);
    add_kv_eval(tool);
    add_embed(tool);
    add_dequant(tool);
    add_extract(tool);
    add_diff(tool);
    add_report(tool);
    add_convert(tool);
    add_merge(tool);
    add_split(tool);
    add_set(tool);
    add_unset(tool);
    add_rename(tool);
    add_quantize(tool);
    add_fit(tool);
    add_imatrix(tool);
    add_bench(tool);
    add_selftest(tool);
    add_types(tool);
    add_cpu(tool);
    add_devices(tool);
    add_version(tool);
    add_completion(tool);
    add_manual(tool);
}

} // namespace ggufx::cli
