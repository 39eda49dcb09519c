// Plugin loading: finds a plugin beside this library or at a path of the host, checks its version
// and keeps it mapped for the life of the process.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "device/plugin.hpp"

namespace ggufx::device {

using Path = char[1024];

// Plugins that this version knows, in the order in which their devices are listed.
constexpr const char *kBackends[] = {"cuda", "vulkan"};

// Loads a plugin file and returns its table, or null with a message in *why. The file stays mapped,
// because drivers leave threads and handlers that would crash after dlclose. A relative path is
// refused in a process with elevated privileges.
const plugin::Table *load(const char *path, Failure *why);

// Writes the path of a backend's plugin in `folder`; null means the folder of this library's file,
// which does not depend on the working directory, PATH or the name of the program. Returns false
// with a message when the path is too long or the library's folder is unknown.
bool path_of(Path &out, const char *folder, const char *backend, Failure *why);

// Returns true if the path is an existing folder.
bool is_folder(const char *path);

} // namespace ggufx::device
