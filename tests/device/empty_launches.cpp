// Empty work on a plugin, called through its table: launches without jobs or columns for every
// operation and type, and submissions of them. All succeed and leave memory unchanged.
//
// usage: empty_launches PLUGIN [DRIVER]        (exit 77: it has no device)
// SPDX-License-Identifier: MIT
#include "device/plugin.hpp"

#include "formats/format.hpp"

#include <dlfcn.h>
#include <initializer_list>
#include <stdio.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::plugin;

namespace {

constexpr uint64_t kBytes = 4096;
int n_faults = 0;

void expect(int32_t status, const Error &error, const char *what) {
    if (status == 0) return;
    fprintf(stderr, "%s: %d %s\n", what, static_cast<int>(status), error.text);
    n_faults++;
}

struct Opened {
    const Table *table;
    void *device, *queue;
    Buffer here, there;
};

bool wait_for(const Opened &o) {
    Error error = {};
    uint64_t ticket = 0;
    expect(o.table->submit(o.queue, &ticket, &error), error, "a submission");
    int32_t status = kBusy;
    for (int i = 0; status == kBusy && i < 10000; i++)
        status = o.table->wait(o.queue, ticket, 1'000'000, &error);
    expect(status, error, "waiting");
    return status == 0;
}

bool copy(const Opened &o, const Buffer &to, const Buffer &from) {
    Error error = {};
    expect(o.table->copy(o.queue, {to.id, 0}, {from.id, 0}, kBytes, &error), error, "a copy");
    return wait_for(o);
}

void launch_nothing(const Opened &o, Op op, uint32_t type, uint32_t n) {
    Launch launch = {};
    launch.op = op;
    launch.type = type;
    launch.n = n;
    launch.k = 256;
    launch.x = launch.packed = launch.sums = launch.y = launch.book = {o.there.id, 0};
    launch.group = 32;
    Error error = {};
    char what[64];
    snprintf(what, sizeof what, "operation %u of type %u by %u", static_cast<unsigned>(op), type,
             n);
    expect(o.table->launch(o.queue, &launch, &error), error, what);
}

bool has_products(const fmt::TypeInfo &type, bool *is_float) {
    *is_float = type.kind == fmt::Kind::kFloat;
    return (*is_float && type.id != fmt::id::F64) || type.kind == fmt::Kind::kQuantized;
}

uint32_t launch_all(const Opened &o) {
    uint32_t n_launches = 0;
    for (const Op op : {Op::pack8, Op::pack15, Op::sums}) {
        launch_nothing(o, op, 0, 0);
        n_launches++;
    }
    for (uint32_t id = 0; id < 64; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        bool is_float = false;
        if (!type || !has_products(*type, &is_float)) continue;
        for (const Op op :
             {Op::dots8, Op::dots15, Op::dots_f32, Op::chains8, Op::chains15, Op::chains_f32}) {
            const bool of_floats = op == Op::dots_f32 || op == Op::chains_f32;
            if (is_float && !of_floats) continue;
            for (uint32_t n = 1; n <= kDotColumns; n += 2) {
                launch_nothing(o, op, id, n);
                n_launches++;
            }
        }
    }
    return n_launches;
}

int run(const Table &table) {
    Error error = {};
    Facts facts[4] = {};
    uint32_t n = 0;
    const int32_t listed = table.list(facts, 4, &n, &error);
    if (listed != 0 || n == 0 || (facts[0].flags & kUnusable)) {
        printf("%s has no device: %s%s\n", table.name, error.text, facts[0].reason);
        return 77;
    }
    Opened o = {&table, nullptr, nullptr, {}, {}};
    const OpenOptions options = {};
    expect(table.open(&o.device, 0, &options, facts, &error), error, "open");
    if (!o.device) return 1;
    expect(table.queue_create(o.device, &o.queue, &error), error, "a queue");
    expect(table.allocate(o.device, kBytes, Memory::staging, &o.here, &error), error, "memory");
    expect(table.allocate(o.device, kBytes, Memory::device, &o.there, &error), error, "memory");
    if (n_faults) return 1;
    auto *bytes = static_cast<uint8_t *>(o.here.mapped);
    for (uint64_t i = 0; i < kBytes; i++) bytes[i] = static_cast<uint8_t>(i * 7);
    uint32_t n_launches = 0;
    if (copy(o, o.there, o.here)) {
        wait_for(o); // an empty submission
        n_launches = launch_all(o);
        wait_for(o);
        memset(bytes, 0, kBytes);
        copy(o, o.here, o.there);
    }
    for (uint64_t i = 0; i < kBytes && n_faults == 0; i++)
        if (bytes[i] != static_cast<uint8_t>(i * 7)) {
            fprintf(stderr, "byte %d was changed\n", static_cast<int>(i));
            n_faults++;
        }
    table.queue_destroy(o.queue);
    table.free(o.device, o.here.id);
    table.free(o.device, o.there.id);
    table.close(o.device);
    printf("%s: %u launches of nothing, %d faults\n", table.name, n_launches, n_faults);
    return n_faults != 0 || n_launches < 300;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *entry = library ? dlsym(library, "ggufx_plugin_0") : nullptr;
    if (!entry) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return run(*reinterpret_cast<const Table *(*)()>(entry)());
}
