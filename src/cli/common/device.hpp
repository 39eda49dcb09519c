// Devices selected by the options --device and --plugins.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

using Device = std::unique_ptr<ggufx_device, Destroyer<ggufx_device_destroy>>;

struct DeviceChoice {
    std::string id;      // "vulkan:0", "auto"; "" or "none": none
    std::string plugins; // folder of plugins, or one plugin; "": next to the library

    bool any() const { return !id.empty() && id != "none"; }
    bool is_auto() const { return id == "auto"; }
};

void add_plugins(Command &verb, DeviceChoice &choice); // --plugins
void add_device(Command &verb, DeviceChoice &choice);  // --device, --plugins

std::vector<ggufx_device_facts> list_devices(const ggufx_runtime *rt, const DeviceChoice &choice);
Device open_device(const ggufx_runtime *rt, const DeviceChoice &choice, uint32_t flags = 0);
ggufx_device_facts device_facts(const ggufx_device *device);
const char *fma_name(const ggufx_device_facts &device); // how the device computes fma

} // namespace ggufx::cli
