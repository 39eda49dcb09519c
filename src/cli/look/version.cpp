// ggufx version: the library's version and what it was built with.
// SPDX-License-Identifier: MIT
#include "floor/json.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static int print_version(const Globals &globals) {
    static const char *const kFeatures[] = {"mimalloc",        "cpuinfo",  "isa:avx2",
                                            "isa:avx512",      "isa:neon", "arch:llama",
                                            "tokenizer:llama", "kv:q8_0"};
    Json features = Json::object();
    std::string text;
    for (const char *feature : kFeatures) {
        const bool has = ggufx_has(feature) != 0;
        features[feature] = has;
        if (has) text += std::string(" ") + feature;
    }
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line["version"] = ggufx_version();
        line["abi"] = ggufx_abi_version();
        line["unicode"] = ggufx_tokenizer_unicode();
        line["features"] = features;
        print_json(out, line);
    } else {
        out.write(fmt::format("ggufx {} (abi {}, Unicode {}){}{}\n", ggufx_version(),
                              ggufx_abi_version(), ggufx_tokenizer_unicode(),
                              text.empty() ? "" : ":", text));
    }
    out.finish();
    return kOk;
}

void add_version(Tool &tool) {
    Command sub = tool.app.add_command("version", "version and build features");
    tool.verbs.emplace_back(sub, [&tool] { return print_version(tool.globals); });
}

} // namespace ggufx::cli
