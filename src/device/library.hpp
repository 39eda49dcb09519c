// A plug-in in memory: found beside this library or where the host says, checked, mapped for good.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "device/plugin.hpp"

namespace ggufx::device {

using Path = char[1024];

// The plug-ins this version knows, in the order in which their devices are listed.
constexpr const char *kBackends[] = {"cuda", "vulkan"};

// The table of the plug-in in a file, or null and in *why a sentence. It stays mapped: drivers leave
// threads and handlers behind that do not survive being unmapped.
const plugin::Table *load(const char *path, Failure *why);

// The file of a backend's plug-in in `folder`, null: the folder of this library. False, with a
// sentence, when the name does not fit or the system does not say where this library is.
bool path_of(Path &out, const char *folder, const char *backend, Failure *why);

// Is there a folder of this name?
bool is_folder(const char *path);

} // namespace ggufx::device
