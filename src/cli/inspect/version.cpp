// ggufx version: the library's version and what it was built with.
// SPDX-License-Identifier: MIT
#include "inspect/version.hpp"

#include "common/api.hpp"
#include "common/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ggufx::cli {

static std::vector<std::string> existing(const char *kind, const std::vector<std::string> &names) {
    std::vector<std::string> out;
    for (const std::string &name : names)
        if (ggufx_has((kind + name).c_str())) out.push_back(name);
    return out;
}

static std::vector<std::string> type_names() {
    std::vector<std::string> out;
    for (const ggufx_type_facts &type : all_types())
        if (!(type.flags & GGUFX_TYPE_IS_ACTIVATION)) out.emplace_back(type.name);
    return out;
}

static const char *unicode_version() {
    return facts<ggufx_pre_tokenizer_facts>([](ggufx_pre_tokenizer_facts *out, ggufx_error *error) {
               return ggufx_pre_tokenizer_at(out, 0, error);
           })
        .unicode;
}

static int print_version(const Globals &globals) {
    static const char *const kFeatures[] = {"mimalloc",   "cpuinfo",  "isa:avx2",
                                            "isa:avx512", "isa:neon", "chat"};
    Json features = Json::object();
    std::string text;
    for (const char *feature : kFeatures) {
        const bool has = ggufx_has(feature) != 0;
        features[feature] = has;
        if (has) text += std::string(" ") + feature;
    }
    const std::vector<std::string> architectures = existing("arch:", architecture_names());
    const std::vector<std::string> tokenizers =
        existing("vocab:", {"llama", "gpt2", "bert", "t5", "rwkv", "plamo2"});
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line["version"] = ggufx_version();
        line["abi"] = ggufx_abi_version();
        line["unicode"] = unicode_version();
        line["features"] = features;
        line["architectures"] = architectures;
        line["tokenizers"] = tokenizers;
        line["types"] = type_names();
        line["kv_types"] = kv_type_names();
        print_json(out, line);
    } else {
        out.write(fmt::format("ggufx {} (abi {}, Unicode {}){}{}\n", ggufx_version(),
                              ggufx_abi_version(), unicode_version(), text.empty() ? "" : ":",
                              text));
        out.write(fmt::format("{} architectures, {} tensor types, {} cache types (--json lists "
                              "them), tokenizers {}\n",
                              architectures.size(), type_names().size(), kv_type_names().size(),
                              fmt::join(tokenizers, ", ")));
    }
    out.finish();
    return kOk;
}

void add_version(Tool &tool) {
    Command sub = tool.app.add_command("version", "show version, build features, architectures");
    tool.verbs.emplace_back(sub, [&tool] { return print_version(tool.globals); });
}

} // namespace ggufx::cli
