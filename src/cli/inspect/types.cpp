// ggufx types: the tensor types this library knows.
// SPDX-License-Identifier: MIT
#include "common/api.hpp"
#include "common/json.hpp"
#include "common/table.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static const char *kind_of(const ggufx_type_facts &type) {
    if (type.flags & GGUFX_TYPE_IS_ACTIVATION) return "activation";
    if (type.flags & GGUFX_TYPE_IS_QUANTIZED) return "quantized";
    return type.flags & GGUFX_TYPE_IS_INTEGER ? "integer" : "float";
}

static double bits_per_value(const ggufx_type_facts &type) {
    return 8.0 * type.block_bytes / type.block_values;
}

static Json type_json(const ggufx_type_facts &type) {
    return {{"name", type.name},
            {"id", type.id},
            {"kind", kind_of(type)},
            {"block_values", type.block_values},
            {"block_bytes", type.block_bytes},
            {"bits_per_value", bits_per_value(type)},
            {"matvec", (type.flags & GGUFX_TYPE_HAS_MATVEC) != 0}};
}

static int print_types(const Globals &globals, const std::vector<std::string> &names) {
    std::vector<ggufx_type_facts> types;
    for (const std::string &name : names)
        types.push_back(type_facts(type_from_name(name, "types")));
    if (names.empty()) types = all_types();

    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line["types"] = Json::array();
        for (const auto &type : types) line["types"].push_back(type_json(type));
        print_json(out, line);
    } else {
        Table table(
            {"name", ">id", "kind", ">values/block", ">bytes/block", ">bits/value", "matvec"});
        for (const auto &type : types) {
            table.row({type.name, fmt::format("{}", type.id), kind_of(type),
                       fmt::format("{}", type.block_values), fmt::format("{}", type.block_bytes),
                       fmt::format("{:.4g}", bits_per_value(type)),
                       type.flags & GGUFX_TYPE_HAS_MATVEC ? "yes" : "no"});
        }
        table.print(out, make_style(globals, out));
    }
    out.finish();
    return kOk;
}

void add_types(Tool &tool) {
    auto names = std::make_shared<std::vector<std::string>>();
    Command sub = tool.app.add_command("types", "list the tensor types");
    sub.option("name", *names, "types to show (default all)").value("TYPE");
    sub.examples("  ggufx types\n  ggufx types q4_k q6_k --json");
    tool.verbs.emplace_back(sub, [&tool, names] { return print_types(tool.globals, *names); });
}

} // namespace ggufx::cli
