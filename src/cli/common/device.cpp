// SPDX-License-Identifier: MIT
#include "common/device.hpp"

namespace ggufx::cli {

void add_plugins(Command &verb, DeviceChoice &choice) {
    verb.option("--plugins", choice.plugins,
                "folder of the plugins, or one plugin (default beside the library)")
        .value("PATH");
}

void add_device(Command &verb, DeviceChoice &choice) {
    verb.option("--device", choice.id,
                "device id that `ggufx devices` lists, auto or none (default none)")
        .value("ID");
    add_plugins(verb, choice);
}

static ggufx_device_options options_of(const DeviceChoice &choice, uint32_t flags) {
    auto options = sized<ggufx_device_options>();
    options.flags = flags;
    options.plugin_path = choice.plugins.empty() ? nullptr : choice.plugins.c_str();
    return options;
}

std::vector<ggufx_device_facts> list_devices(const ggufx_runtime *rt, const DeviceChoice &choice) {
    const ggufx_device_options options = options_of(choice, 0);
    std::vector<ggufx_device_facts> devices(64); // resized if the machine has more
    size_t n = 0;
    for (;;) {
        for (ggufx_device_facts &device : devices) device.struct_size = sizeof device;
        ggufx_error error;
        const ggufx_status status =
            ggufx_device_list(devices.data(), devices.size(), &n, rt, &options, &error);
        if (status == GGUFX_OK) break;
        if (status != GGUFX_E_CAPACITY) throw Failure(exit_code(status), error);
        devices.resize(n);
    }
    devices.resize(n);
    return devices;
}

Device open_device(const ggufx_runtime *rt, const DeviceChoice &choice, uint32_t flags) {
    const ggufx_device_options options = options_of(choice, flags);
    ggufx_device *device = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_device_open(&device, rt, choice.id.c_str(), &options, error);
    });
    return Device(device);
}

ggufx_device_facts device_facts(const ggufx_device *device) {
    return facts<ggufx_device_facts>([&](ggufx_device_facts *out, ggufx_error *error) {
        return ggufx_device_info(out, device, error);
    });
}

const char *fma_name(const ggufx_device_facts &device) {
    switch (device.fma) {
    case GGUFX_FMA_DEVICE:
        return "device";
    case GGUFX_FMA_F64:
        return "f64";
    case GGUFX_FMA_F32:
        return "f32";
    default:
        return "unknown";
    }
}

} // namespace ggufx::cli
