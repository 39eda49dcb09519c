// Devices and tensors in device memory: include/ggufx/device.h.
// SPDX-License-Identifier: MIT
#include "abi/device_handle.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"
#include "device/catalog.hpp"
#include "formats/format.hpp"

#include <ggufx/device.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kDeviceFlags =
    GGUFX_DEVICE_ALLOW_INEXACT | GGUFX_DEVICE_FMA_F64 | GGUFX_DEVICE_FMA_F32;

// Values that the plugin table and the public interface share.
static_assert(plugin::kUnusable == GGUFX_DEVICE_UNUSABLE);
static_assert(plugin::kUnified == GGUFX_DEVICE_UNIFIED);
static_assert(plugin::kIntDot == GGUFX_DEVICE_INT_DOT);
static_assert(plugin::kProcessor == GGUFX_DEVICE_SOFTWARE);
constexpr uint32_t kHandleFlags =
    GGUFX_VULKAN_FLOAT64 | GGUFX_VULKAN_INT_DOT | GGUFX_VULKAN_MEMORY_BUDGET;
constexpr uint32_t kPluginFlags =
    plugin::kUnusable | plugin::kUnified | plugin::kIntDot | plugin::kProcessor;

device::OpenOptions import_open_options(const ggufx_device_options &in) {
    device::OpenOptions out;
    out.bounded = (in.flags & GGUFX_DEVICE_ALLOW_INEXACT) != 0;
    out.fma_f64 = (in.flags & GGUFX_DEVICE_FMA_F64) != 0;
    out.fma_f32 = (in.flags & GGUFX_DEVICE_FMA_F32) != 0;
    if (out.fma_f64 && out.fma_f32)
        fail(Status::argument, {},
             "ggufx_device_options.flags: FMA_F64 and FMA_F32 exclude each other");
    out.cache = {in.cache_user, in.cache_load, in.cache_store};
    return out;
}

ggufx_device_facts facts_of(const plugin::Facts &in, const char *id) {
    ggufx_device_facts out = {};
    out.flags = in.flags & kPluginFlags;
    out.memory_bytes = in.memory_bytes;
    out.max_allocation = in.buffer_bytes;
    print_text(out.id, sizeof out.id, "%s", id);
    print_text(out.name, sizeof out.name, "%s", in.name);
    print_text(out.driver, sizeof out.driver, "%s", in.driver);
    print_text(out.reason, sizeof out.reason, "%s", in.reason);
    return out;
}

ggufx_device_facts facts_of(device::Device &device) {
    ggufx_device_facts out = facts_of(device.backend().facts(), device.id());
    out.fma = static_cast<uint32_t>(device.fma()) + GGUFX_FMA_DEVICE;
    out.used_bytes = device.bytes();
    out.n_launches = device.backend().n_launches();
    if (device.exact()) {
        out.flags |= GGUFX_DEVICE_EXACT;
    } else {
        print_text(out.reason, sizeof out.reason, "%s is not exact", device.fault());
    }
    if (device.backend().memory(&out.free_bytes, &out.memory_bytes, nullptr) != Status::ok) {
        out.free_bytes = 0;
        out.memory_bytes = device.backend().facts().memory_bytes;
    }
    if (device.backend().lost()) out.flags |= GGUFX_DEVICE_LOST;
    return out;
}

} // namespace

extern "C" ggufx_status ggufx_device_list(ggufx_device_facts *out, size_t capacity,
                                          size_t *out_needed, const ggufx_runtime *rt,
                                          const ggufx_device_options *options, ggufx_error *error) {
    return guard(error, [&] {
        require(out_needed && (out || capacity == 0), "out and out_needed must be set");
        require(alive(rt, Tag::runtime), "rt must be set");
        const auto in = import_options(options, kDeviceFlags, "ggufx_device_options");
        if (capacity > 0) check_output(out, "ggufx_device_facts");
        const uint32_t size = capacity > 0 ? out->struct_size : 0;
        const Vector<device::Entry> entries = device::list(*rt->host, in.plugin_path);
        *out_needed = entries.size();
        for (size_t i = 0; i < entries.size() && i < capacity; i++) {
            auto *to =
                reinterpret_cast<ggufx_device_facts *>(reinterpret_cast<char *>(out) + i * size);
            memcpy(to, &size, sizeof size);
            export_struct(to, facts_of(entries[i].facts, entries[i].id), "ggufx_device_facts");
        }
        if (entries.size() > capacity)
            fail(Status::capacity, {.value = entries.size(), .limit = capacity},
                 "there are %" PRIu64 " devices, out has room for %" PRIu64,
                 static_cast<uint64_t>(entries.size()), static_cast<uint64_t>(capacity));
    });
}

extern "C" ggufx_status ggufx_device_open(ggufx_device **out, const ggufx_runtime *rt,
                                          const char *id, const ggufx_device_options *options,
                                          ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(id, "id must be set");
        const auto in = import_options(options, kDeviceFlags, "ggufx_device_options");
        const device::OpenOptions imported = import_open_options(in);
        const Vector<device::Entry> entries = device::list(*rt->host, in.plugin_path);
        const device::Entry &entry = device::find(entries, id);
        auto opened = device::Device::open(rt->host, *entry.table, entry.index, entry.id, imported);
        *out = make<ggufx_device>(*rt->host, std::move(opened));
    });
}

extern "C" ggufx_status ggufx_device_create_vulkan(ggufx_device **out, const ggufx_runtime *rt,
                                                   const ggufx_vulkan_options *handles,
                                                   const ggufx_device_options *options,
                                                   ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(handles, "handles must be set");
        const auto h = import_options(handles, kHandleFlags, "ggufx_vulkan_options");
        require(h.get_instance_proc_addr && h.instance && h.physical_device && h.device && h.queue,
                "ggufx_vulkan_options: each handle must be set");
        require(!h.lock == !h.unlock, "ggufx_vulkan_options: lock and unlock must both be set");
        const auto in = import_options(options, kDeviceFlags, "ggufx_device_options");
        const device::OpenOptions imported = import_open_options(in);
        const plugin::Table &table = device::plugin_of("vulkan", in.plugin_path);
        *out = make<ggufx_device>(*rt->host, device::Device::adopt(rt->host, table, &h, imported));
    });
}

extern "C" void ggufx_device_detach(ggufx_device *device) {
    const NoCancel whole;
    if (alive(device, Tag::device)) device->device->detach();
}

extern "C" void ggufx_device_destroy(ggufx_device *device) {
    const NoCancel whole;
    if (!alive(device, Tag::device)) return;
    destroy_object(device->device->host(), device);
}

extern "C" ggufx_status ggufx_device_info(ggufx_device_facts *out, const ggufx_device *device,
                                          ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(device, Tag::device), "out and device must be set");
        check_output(out, "ggufx_device_facts");
        export_struct(out, facts_of(*device->device), "ggufx_device_facts");
    });
}

namespace {

// Tensor handle of uploaded rows with the shape of w.
OwnedTensor *uploaded(const Ref<device::Device> &device, const gguf::Tensor &w,
                      Ref<device::Rows> rows) {
    const Ref<Host> &host = device->host();
    auto *made = make<OwnedTensor>(*host);
    try {
        made->host = host;
        made->tensor = w;
        made->tensor.data = nullptr;
        if (rows->stride() > 0) made->tensor.row_stride = rows->stride();
        made->tensor.offset = made->tensor.file_offset = UINT64_MAX;
        made->tensor.part = 0;
        made->wrapped = keep_wrapped(host, io::OnEnd(nullptr, nullptr), w.name);
        made->tensor.name = {reinterpret_cast<const char *>(made->wrapped->name.data()),
                             w.name.size()};
        made->rows = std::move(rows);
    } catch (...) {
        unmake(*host, made);
        throw;
    }
    return made;
}

} // namespace

extern "C" ggufx_status ggufx_tensor_upload(ggufx_tensor **out, const ggufx_device *device,
                                            const ggufx_tensor *w, const ggufx_progress *progress,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(device, Tag::device), "out and device must be set");
        require(alive(w, Tag::tensor), "w must be set");
        const Progress imported = import_progress(progress);
        const gguf::Tensor view = w->view();
        const fmt::TypeInfo *type = fmt::type_info(view.type);
        if (!type || !fmt::has_products(*type))
            fail(Status::type, {}, "weights of type %s cannot be multiplied",
                 type ? type->name : "unknown");
        if (as_owned(w) && as_owned(w)->rows)
            fail(Status::unsupported, {}, "w lies in a device's memory already");
        if (!view.data && view.n_bytes > 0)
            fail(Status::unsupported, {}, "the weights are not in memory");
        auto rows = device::Rows::upload(device->device, weights_of(*w), imported);
        *out = uploaded(device->device, view, std::move(rows));
    });
}

extern "C" ggufx_status ggufx_tensor_download(void *out, size_t n, const ggufx_tensor *w,
                                              ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(w, Tag::tensor) || !as_owned(w) || !as_owned(w)->rows)
            return set_failure(failure, Status::argument, {}, "w is not a tensor of a device");
        const OwnedTensor &owned = *as_owned(w);
        const gguf::Tensor &t = owned.tensor;
        if (n != t.n_bytes || (!out && n > 0))
            return set_failure(failure, Status::argument, {},
                               "out must hold the tensor's %" PRIu64 " bytes, n is %" PRIu64,
                               t.n_bytes, uint64_t{n});
        if (n == 0) return Status::ok;
        return owned.rows->download(static_cast<uint8_t *>(out),
                                    {owned.device_at, t.row_stride, t.row_bytes, t.n_rows},
                                    failure);
    });
}

extern "C" ggufx_status ggufx_tensor_checksum(uint32_t *out, const ggufx_tensor *w,
                                              ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!out || !alive(w, Tag::tensor) || !as_owned(w) || !as_owned(w)->rows)
            return set_failure(failure, Status::argument, {},
                               "out must be set and w a tensor of a device");
        const OwnedTensor &owned = *as_owned(w);
        const gguf::Tensor &t = owned.tensor;
        uint32_t sum = 0;
        const Status status =
            t.n_bytes == 0
                ? Status::ok
                : owned.rows->sum_words(
                      &sum, {owned.device_at, t.row_stride, t.row_bytes, t.n_rows}, failure);
        if (status == Status::ok) *out = sum;
        return status;
    });
}
