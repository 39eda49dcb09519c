// SPDX-License-Identifier: MIT
#include "device/library.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

namespace ggufx::device {

namespace {

using TableFunction = const plugin::Table *(*)(void);

const plugin::Table *checked(const plugin::Table *table, const char *path, Failure *why) {
    // version and bytes are the first two fields of the table in every version.
    if (table && table->version == plugin::kVersion && table->bytes == sizeof *table) return table;
    set_failure(why, Status::unsupported, {},
                "%s is a plugin of version %" PRIu32 " (%" PRIu32
                " bytes of functions), this library needs %" PRIu32 " (%" PRIu32 ")",
                path, table ? table->version : 0, table ? table->bytes : 0, plugin::kVersion,
                static_cast<uint32_t>(sizeof *table));
    return nullptr;
}

// A dangling symbolic link is not absent: dlopen reports what is wrong with it.
bool is_absent(const char *path) {
    struct stat facts;
    return lstat(path, &facts) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

} // namespace

const plugin::Table *load(const char *path, Failure *why) {
    // dlopen would search the system's library folders for a name without a slash.
    Path beside;
    if (!strchr(path, '/')) {
        print_text(beside, sizeof beside, "./%s", path);
        path = beside;
    }
    if (is_absent(path)) {
        set_failure(why, Status::unsupported, {}, "not installed: there is no file %s", path);
        return nullptr;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *text = dlerror();
        set_failure(why, Status::unsupported, {}, "%s", text ? text : path);
        return nullptr;
    }
    void *entry = dlsym(library, "ggufx_plugin_0");
    dlclose(library); // RTLD_NODELETE keeps it mapped
    if (!entry) {
        set_failure(why, Status::unsupported, {}, "%s is not a plugin of libggufx", path);
        return nullptr;
    }
    return checked(reinterpret_cast<TableFunction>(entry)(), path, why);
}

bool path_of(Path &out, const char *folder, const char *backend, Failure *why) {
    size_t n_folder = 0;
    if (folder) {
        n_folder = strlen(folder);
    } else {
        Dl_info self;
        if (!dladdr(reinterpret_cast<const void *>(&path_of), &self) || !self.dli_fname) {
            set_failure(why, Status::unsupported, {}, "the system does not say where libggufx is");
            return false;
        }
        folder = self.dli_fname;
        const char *end = strrchr(folder, '/');
        n_folder = end ? static_cast<size_t>(end - folder) : 0;
        if (!end) folder = ".", n_folder = 1;
    }
    const int n = snprintf(out, sizeof out, "%.*s/libggufx-%s" GGUFX_PLUGIN_SUFFIX,
                           static_cast<int>(n_folder), folder, backend);
    if (n_folder < sizeof out && n > 0 && static_cast<size_t>(n) < sizeof out) return true;
    set_failure(why, Status::limit, {}, "the path of the plugin %s has more than %zu bytes",
                backend, sizeof out - 1);
    return false;
}

bool is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

} // namespace ggufx::device
