// ggufx cpu: features of this processor and the kernels selected for it.
// SPDX-License-Identifier: MIT
#include "common/api.hpp"
#include "common/json.hpp"
#include "common/table.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static std::vector<std::string> feature_names(uint64_t features) {
    static constexpr struct {
        uint64_t bit;
        const char *name;
    } kFeatures[] = {
#define GGUFX_FEATURE(name, constant, bit) {GGUFX_CPU_##constant, #name},
#include "base/cpu_features.def"
#undef GGUFX_FEATURE
    };
    std::vector<std::string> names;
    for (const auto &feature : kFeatures) {
        if (features & feature.bit) names.emplace_back(feature.name);
    }
    return names;
}

static std::string kernel_name(const ggufx_runtime *rt, uint32_t type) {
    const char *name = ggufx_runtime_kernel_name(rt, type);
    return name ? name : "";
}

static void print_text(Output &out, const Globals &globals, const ggufx_runtime *rt,
                       const ggufx_runtime_facts &info) {
    std::string features;
    for (const std::string &name : feature_names(info.features)) features += " " + name;
    out.write(fmt::format("features:{}\nkernels: {}\nthreads: {}\nallocator: {}\nworkspace: {}\n\n",
                          features.empty() ? " none beyond the baseline" : features, info.isa_name,
                          info.threads, info.allocator_name, bytes_text(info.workspace_bytes)));
    Table table({"type", "matvec kernel"});
    for (const auto &type : all_types()) {
        if (type.flags & GGUFX_TYPE_HAS_MATVEC) table.row({type.name, kernel_name(rt, type.id)});
    }
    table.print(out, make_style(globals, out));
}

static int print_cpu(const Globals &globals) {
    const Runtime rt = make_runtime(globals);
    const auto info = facts<ggufx_runtime_facts>([&](ggufx_runtime_facts *out, ggufx_error *error) {
        return ggufx_runtime_info(out, rt.get(), error);
    });
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line["features"] = feature_names(info.features);
        line["isa"] = info.isa_name;
        line["threads"] = info.threads;
        line["allocator"] = info.allocator_name;
        line["workspace_bytes"] = info.workspace_bytes;
        line["kernels"] = Json::object();
        for (const auto &type : all_types()) {
            if (!(type.flags & GGUFX_TYPE_HAS_MATVEC)) continue;
            line["kernels"][type.name] = kernel_name(rt.get(), type.id);
        }
        print_json(out, line);
    } else {
        print_text(out, globals, rt.get(), info);
    }
    out.finish();
    return kOk;
}

void add_cpu(Tool &tool) {
    Command sub = tool.app.add_command("cpu", "show processor features and the kernels in use");
    sub.examples("  ggufx cpu\n  ggufx cpu --isa scalar --json");
    tool.verbs.emplace_back(sub, [&tool] { return print_cpu(tool.globals); });
}

} // namespace ggufx::cli
