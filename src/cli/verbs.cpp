// The tool's command line: options of all commands, and the commands of verbs.def.
// SPDX-License-Identifier: MIT
#include "verbs.hpp"

#include "common/api.hpp"

#include <algorithm>
#include <iterator>

namespace ggufx::cli {

// Returns "best, scalar, ... or neon_i8mm".
static std::string isa_names() {
    std::string text = kIsaNames[0].name;
    for (size_t i = 1; i < kIsaNames.size(); i++)
        text += (i + 1 < kIsaNames.size() ? ", " : " or ") + std::string(kIsaNames[i].name);
    return text;
}

static void add_common_options(Command app, Globals &globals) {
    app.flag("--json", globals.json, "print JSON (\"schema\": 1)");
    app.option("-o,--output", globals.output, "write data to FILE instead of stdout (-)")
        .value("FILE");
    app.option("-t,--threads", globals.thread_counts,
               "number of threads, 0 = one per processor; bench takes a list (default 0)")
        .list()
        .between(0, 4096);
    app.option("--isa", globals.isa,
               "instruction set: " + isa_names() +
                   "; bench also takes all, or a list (default best)")
        .value("ISA");
    app.flag("--force", globals.force, "replace existing output files");
    app.flag("-q,--quiet", globals.quiet, "no progress and no remarks on stderr");
    app.flag("-v,--verbose", globals.verbose, "print log messages of the library to stderr");
    app.option("--color", globals.color, "when to use colors (default auto: on a terminal)")
        .one_of({"auto", "always", "never"});
    app.option("--progress", globals.progress,
               "when to show progress on stderr (default auto: on a terminal)")
        .one_of({"auto", "always", "never", "json"});
}

namespace {

struct Verb {
    std::string_view name;
    void (*declare)(Tool &);
};

constexpr Verb kVerbs[] = {
#define GGUFX_VERB(name, declare) {name, declare},
#include "verbs.def"
#undef GGUFX_VERB
};

} // namespace

std::vector<OtherWord> other_words() {
    constexpr const char *kNoStore =
        "there is no model store, models are files: \"ggufx info FILE\" "
        "shows one";
    constexpr const char *kNoDownload = "models are files that other programs download; then "
                                        "\"ggufx run FILE\"";
    constexpr const char *kRun = "use \"ggufx run MODEL\", or \"ggufx chat MODEL\" to talk to it";
    constexpr const char *kInfo = "use \"ggufx info FILE\"";
    constexpr const char *kBench = "use \"ggufx bench model MODEL\"";
    constexpr const char *kConvert = "use \"ggufx convert FOLDER -o FILE\"";
    constexpr const char *kSet = "use \"ggufx set FILE KEY=VALUE\"";
    return {{"list", kNoStore},
            {"ls", kNoStore},
            {"ps", kNoStore},
            {"models", kNoStore},
            {"rm", kNoStore},
            {"remove", kNoStore},
            {"delete", kNoStore},
            {"cp", kNoStore},
            {"stop", kNoStore},
            {"pull", kNoDownload},
            {"push", kNoDownload},
            {"download", kNoDownload},
            {"get", kNoDownload},
            {"show", kInfo},
            {"inspect", kInfo},
            {"gguf", kInfo},
            {"dump", kInfo},
            {"gguf-dump", kInfo},
            {"generate", kRun},
            {"main", kRun},
            {"cli", kRun},
            {"simple", kRun},
            {"completions", kRun},
            {"talk", "use \"ggufx chat MODEL\""},
            {"server", "use \"ggufx serve MODEL\""},
            {"start", "use \"ggufx serve MODEL\""},
            {"ppl", "use \"ggufx perplexity MODEL -f TEXT\""},
            {"embedding", "use \"ggufx embed MODEL TEXT\""},
            {"embeddings", "use \"ggufx embed MODEL TEXT\""},
            {"rerank", "use \"ggufx embed MODEL --rerank QUERY TEXT\""},
            {"tokenise", "use \"ggufx tokenize MODEL\""},
            {"tokens", "use \"ggufx tokenize MODEL\""},
            {"detokenize", "use \"ggufx tokenize MODEL --ids\""},
            {"convert-hf-to-gguf", kConvert},
            {"convert-hf", kConvert},
            {"import", kConvert},
            {"create", kConvert},
            {"export", "use \"ggufx convert MODEL --to safetensors -o FOLDER\""},
            {"gguf-split", "use \"ggufx split\", or \"ggufx merge\" for the way back"},
            {"quantise", "use \"ggufx quantize\""},
            {"quant", "use \"ggufx quantize\""},
            {"cvector-generator", "control vectors are applied (ggufx run --help), not made"},
            {"export-lora", "use \"ggufx merge MODEL -o OUT --lora FILE\""},
            {"bench-model", kBench},
            {"benchmark", kBench},
            {"batched-bench", kBench},
            {"gguf-set-metadata", kSet},
            {"gguf-new-metadata", kSet},
            {"edit", kSet},
            {"check", "use \"ggufx validate FILE\""},
            {"verify", "use \"ggufx validate FILE\""},
            {"gpus", "use \"ggufx devices\""},
            {"man", "use \"ggufx manual\""}};
}

// Declares only the command that is named first: declaring all takes three quarters of the startup.
// Help and manual describe all, and need all.
void add_verbs(Tool &tool, std::string_view first) {
    tool.app.examples("  ggufx demo\n  ggufx info model.gguf\n"
                      "  ggufx run model.gguf -p \"Once upon a time\" --temp 0");
    add_common_options(tool.app, tool.globals);
    const auto named = [&](const Verb &verb) { return verb.name == first; };
    const Verb *only = std::find_if(std::begin(kVerbs), std::end(kVerbs), named);
    if (only != std::end(kVerbs) && first != "manual" && first != "help")
        return only->declare(tool);
    for (const Verb &verb : kVerbs) verb.declare(tool);
}

} // namespace ggufx::cli
