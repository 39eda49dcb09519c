// SPDX-License-Identifier: MIT
#include "device/library.hpp"

#include "base/lines.hpp"

#include <charconv>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <libproc.h>
#endif

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

// Whether the process has rights that its caller does not have (set-user-ID, file capabilities).
bool is_elevated() {
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
    return issetugid() != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

#if defined(__linux__)
// The kernel knows the file of a mapping. dladdr() has the name by which it was loaded: the first
// argument of a program, or a path relative to a former working directory.
bool find_own_file(Path &out, const void *address) {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    char line[sizeof out + 128];
    for (io::Lines lines("/proc/self/maps"); lines.next(line, sizeof line);) {
        uintptr_t first = 0, end = 0;
        const char *const stop = line + strlen(line);
        const char *const dash = std::from_chars(line, stop, first, 16).ptr;
        if (*dash != '-' || std::from_chars(dash + 1, stop, end, 16).ec != std::errc()) continue;
        if (wanted < first || wanted >= end) continue;
        const char *const path = strchr(line, '/');
        if (!path || strncmp(path, "/memfd:", 7) == 0 || strlen(path) >= sizeof out) return false;
        memcpy(out, path, strlen(path) + 1);
        return true;
    }
    return false;
}
#elif defined(__APPLE__)
bool find_own_file(Path &out, const void *address) {
    const int n = proc_regionfilename(getpid(), reinterpret_cast<uintptr_t>(address), out,
                                      static_cast<uint32_t>(sizeof out));
    if (n <= 0 || static_cast<size_t>(n) >= sizeof out) return false;
    out[n] = 0;
    return true;
}
#else
bool find_own_file(Path &out, const void *address) {
    Dl_info self;
    if (is_elevated() || !dladdr(address, &self) || !self.dli_fname) return false;
    if (strlen(self.dli_fname) >= sizeof out) return false;
    memcpy(out, self.dli_fname, strlen(self.dli_fname) + 1);
    return true;
}
#endif

} // namespace

const plugin::Table *load(const char *path, Failure *why) {
    if (path[0] != '/' && is_elevated()) {
        set_failure(why, Status::unsupported, {},
                    "the path of a plugin must be absolute in a process with elevated privileges, "
                    "not %s",
                    path);
        return nullptr;
    }
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
    size_t n_folder = folder ? strlen(folder) : 0;
    Path own;
    if (!folder) {
        if (!find_own_file(own, reinterpret_cast<const void *>(&path_of)) || own[0] != '/') {
            set_failure(why, Status::unsupported, {},
                        "the system does not say in which folder libggufx is (use plugin_path)");
            return false;
        }
        folder = own;
        n_folder = static_cast<size_t>(strrchr(own, '/') - own);
    }
    const int n = snprintf(out, sizeof out, "%.*s/libggufx-%s" GGUFX_PLUGIN_SUFFIX,
                           static_cast<int>(n_folder), folder, backend);
    if (n_folder < sizeof out && n > 0 && static_cast<size_t>(n) < sizeof out) return true;
    set_failure(why, Status::limit, {.limit = sizeof out - 1},
                "the path of the plugin %s has more than %zu bytes", backend, sizeof out - 1);
    return false;
}

bool is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

} // namespace ggufx::device
