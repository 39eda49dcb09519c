// The tool's command line: options of all verbs, and the table of verbs.
// SPDX-License-Identifier: MIT
#include "verbs.hpp"

#include <algorithm>
#include <iterator>

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

namespace {

struct Verb {
    std::string_view name;
    void (*declare)(Tool &);
};

// In the order of the help.
constexpr Verb kVerbs[] = {
    {"demo", add_demo},         {"info", add_info},
    {"validate", add_validate}, {"run", add_run},
    {"chat", add_chat},
#if GGUFX_CLI_SERVE
    {"serve", add_serve},
#endif
    {"tokenize", add_tokenize}, {"perplexity", add_perplexity},
    {"kv-eval", add_kv_eval},   {"embed", add_embed},
    {"dequant", add_dequant},   {"extract", add_extract},
    {"diff", add_diff},         {"report", add_report},
    {"convert", add_convert},   {"merge", add_merge},
    {"split", add_split},       {"set", add_set},
    {"unset", add_unset},       {"rename", add_rename},
    {"quantize", add_quantize}, {"fit", add_fit},
    {"imatrix", add_imatrix},   {"bench", add_bench},
    {"selftest", add_selftest}, {"types", add_types},
    {"cpu", add_cpu},           {"devices", add_devices},
    {"version", add_version},   {"completion", add_completion},
    {"manual", add_manual},
};

} // namespace

// Declaring all takes three quarters of a start: the one that is named first is enough, but for the
// manual, which describes all.
void add_verbs(Tool &tool, std::string_view first) {
    tool.app.examples("  ggufx demo\n  ggufx info model.gguf\n"
                      "  ggufx run model.gguf -p \"Once upon a time\" --temp 0");
    add_common_options(tool.app, tool.globals);
    const auto named = [&](const Verb &verb) { return verb.name == first; };
    const Verb *only = std::find_if(std::begin(kVerbs), std::end(kVerbs), named);
    if (only != std::end(kVerbs) && first != "manual") return only->declare(tool);
    for (const Verb &verb : kVerbs) verb.declare(tool);
}

} // namespace ggufx::cli
