// ggufx devices: GPUs and other compute devices, and why a device cannot be used.
// SPDX-License-Identifier: MIT
#include "common/device.hpp"
#include "common/json.hpp"
#include "common/table.hpp"
#include "common/text.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static bool usable(const ggufx_device_facts &device) {
    return (device.flags & GGUFX_DEVICE_UNUSABLE) == 0;
}

static const char *kind_of(const ggufx_device_facts &device) {
    if (device.flags & GGUFX_DEVICE_SOFTWARE) return "processor";
    return device.flags & GGUFX_DEVICE_UNIFIED ? "shared memory" : "own memory";
}

static Json device_json(const ggufx_device_facts &device) {
    return {{"id", device.id},
            {"usable", usable(device)},
            {"name", device.name},
            {"driver", device.driver},
            {"processor", (device.flags & GGUFX_DEVICE_SOFTWARE) != 0},
            {"unified", (device.flags & GGUFX_DEVICE_UNIFIED) != 0},
            {"int_dot", (device.flags & GGUFX_DEVICE_INT_DOT) != 0},
            {"memory_bytes", device.memory_bytes},
            {"max_allocation", device.max_allocation},
            {"reason", device.reason}};
}

// A plugin that is not installed is no fault: most machines need one at most. If the user named a
// plugin path, the full reason shows what was searched.
static std::string unusable_text(const ggufx_device_facts &device, const DeviceChoice &choice) {
    constexpr std::string_view kAbsent = "not installed";
    const bool is_absent = std::string_view(device.reason).starts_with(kAbsent);
    if (is_absent && choice.plugins.empty()) return fmt::format("{}: {}", device.id, kAbsent);
    return fmt::format("{}{} {}", escape(device.id),
                       is_absent ? ":" : " cannot be used:", escape(device.reason));
}

// Prints usable devices as a table, and one line for each other device, as reasons can be long.
static void print_text(Output &out, const Globals &globals, const DeviceChoice &choice,
                       const std::vector<ggufx_device_facts> &devices) {
    Table table({"id", "name", ">memory", "kind", "driver"});
    table.essential({"id", "memory"});
    table.dispensable({"driver", "kind"});
    for (const auto &device : devices)
        if (usable(device))
            table.row({escape(device.id), escape(device.name), bytes_text(device.memory_bytes),
                       kind_of(device), escape(device.driver)});
    if (!table.empty()) table.print(out, make_style(globals, out));
    for (const auto &device : devices)
        if (!usable(device)) out.write(unusable_text(device, choice) + "\n");
}

static int print_devices(const Globals &globals, const DeviceChoice &choice) {
    const Runtime rt = make_runtime(globals);
    const std::vector<ggufx_device_facts> devices = list_devices(rt.get(), choice);
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line["devices"] = Json::array();
        for (const auto &device : devices) line["devices"].push_back(device_json(device));
        print_json(out, line);
    } else {
        print_text(out, globals, choice, devices);
    }
    out.finish();
    return kOk;
}

void add_devices(Tool &tool) {
    auto choice = std::make_shared<DeviceChoice>();
    Command sub = tool.app.add_command("devices", "list the GPUs that plugins support");
    add_plugins(sub, *choice);
    sub.examples("  ggufx devices\n  ggufx devices --json");
    tool.verbs.emplace_back(sub, [&tool, choice] { return print_devices(tool.globals, *choice); });
}

} // namespace ggufx::cli
