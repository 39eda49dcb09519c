// Lists the devices of plugins, one line each: id and reason. Run by plugin_folder.py.
// usage: plugin_probe [-C FOLDER] [PLUGIN_PATH]: changes to a folder first
// SPDX-License-Identifier: MIT
#include <ggufx/device.h>

#include <cstdio>
#include <cstring>
#include <unistd.h>

int main(int argc, char **argv) {
    int at = 1;
    ggufx_runtime *rt = nullptr;
    if (ggufx_runtime_create(&rt, nullptr, nullptr) != GGUFX_OK) return 2;
    if (argc > 2 && std::strcmp(argv[1], "-C") == 0) {
        if (chdir(argv[2]) != 0) return 2;
        at = 3;
    }
    ggufx_device_options options = {};
    options.struct_size = sizeof options;
    if (at < argc) options.plugin_path = argv[at];
    ggufx_device_facts facts[16];
    for (ggufx_device_facts &one : facts) one.struct_size = sizeof one;
    size_t n = 0;
    ggufx_error error;
    if (ggufx_device_list(facts, 16, &n, rt, &options, &error) != GGUFX_OK) {
        std::fprintf(stderr, "%s\n", error.message);
        return 2;
    }
    for (size_t i = 0; i < n; i++) std::printf("%s: %s\n", facts[i].id, facts[i].reason);
    ggufx_runtime_destroy(rt);
    return 0;
}
