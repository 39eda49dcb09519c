// Which devices there are: those of all plug-ins that can be loaded, and of the others why not.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "device/plugin.hpp"

namespace ggufx::device {

struct Entry {
    const plugin::Table *table; // null: a plug-in that cannot be used
    uint32_t index;             // in the plug-in
    char id[40];                // "vulkan:0", of a plug-in alone "vulkan"
    plugin::Facts facts;        // kUnusable, and the reason, where it cannot be opened

    bool usable() const { return table && (facts.flags & plugin::kUnusable) == 0; }
};

// plugin_path: a folder or a plug-in; null: the folder of this library. Throws Error (limit) /
// std::bad_alloc.
Vector<Entry> list(const Host &host, const char *plugin_path);

// The plug-in of one backend, in a folder or named itself. Throws Error (limit, unsupported).
const plugin::Table &plugin_of(const char *backend, const char *plugin_path);

// The entry of an id, or for "auto" the first that can be used and is no processor. Throws Error
// (unsupported) with what is wrong.
const Entry &find(const Vector<Entry> &entries, const char *id);

} // namespace ggufx::device
