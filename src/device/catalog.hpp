// Catalog of devices: all devices of loadable plugins, and the reasons why other plugins or devices
// are unusable.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "device/plugin.hpp"

namespace ggufx::device {

struct Entry {
    const plugin::Table *table; // null when the plugin could not be used
    uint32_t index;             // index of the device in its plugin
    char id[40];                // "vulkan:0", or "vulkan" for a plugin without a device
    plugin::Facts facts;        // kUnusable with a reason if it cannot be opened

    bool usable() const { return table && (facts.flags & plugin::kUnusable) == 0; }
};

// Lists the devices of all plugins. plugin_path is a folder or the file of a plugin; null means the
// folder of this library. Throws Error (limit) / std::bad_alloc.
Vector<Entry> list(const Host &host, const char *plugin_path);

// Loads the plugin of one backend. plugin_path as for list(). Throws Error (limit, unsupported).
const plugin::Table &plugin_of(const char *backend, const char *plugin_path);

// Returns the entry with this id. "auto" returns the first usable entry that is not a software
// device on the processor. Throws Error (unsupported) with the reason.
const Entry &find(const Vector<Entry> &entries, const char *id);

} // namespace ggufx::device
