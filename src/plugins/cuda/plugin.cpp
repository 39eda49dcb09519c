// Plugin libggufx-cuda: implements the table of device/plugin.hpp and converts all exceptions into
// statuses.
// SPDX-License-Identifier: MIT
#include "plugins/cuda/queue.hpp"

using namespace ggufx;
using namespace ggufx::cuda;
using plugin::Error;
using plugin::guard;

namespace {

using Shared = plugin::Entries<Device, Queue>;

int32_t list(plugin::Facts *out, uint32_t capacity, uint32_t *n, Error *error) {
    return guard(error, [&] {
        *n = n_devices();
        for (uint32_t i = 0; i < *n && i < capacity; i++) out[i] = facts_of(i);
        return GGUFX_OK;
    });
}

int32_t open(void **device, uint32_t index, const plugin::OpenOptions *, plugin::Facts *facts,
             Error *error) {
    return guard(error, [&] {
        if (index >= n_devices()) fail(GGUFX_E_UNSUPPORTED, 0, "device %u is gone", index);
        *facts = facts_of(index);
        if (facts->flags & plugin::kUnusable) fail(GGUFX_E_UNSUPPORTED, 0, "%s", facts->reason);
        *device = new Device(index);
        return GGUFX_OK;
    });
}

// The driver has its own cache of compiled programs.
int32_t cache(void *, void *, uint64_t, uint64_t *n, Error *) {
    *n = 0;
    return GGUFX_OK;
}

// A stream executes in order, so a barrier has no work.
int32_t barrier(void *, Error *) {
    return GGUFX_OK;
}

constexpr plugin::Table kTable = Shared::table("cuda", {list, open, nullptr, cache, barrier});

} // namespace

extern "C" [[gnu::visibility("default")]] const plugin::Table *ggufx_plugin_0(void) {
    return &kTable;
}
