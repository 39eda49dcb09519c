// SPDX-License-Identifier: MIT
#include "device/device.hpp"

#include "base/fpenv.hpp"
#include "device/codebooks.hpp"
#include "device/self_test.hpp"
#include "device/sizes.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::device {

namespace {

void require(Status status, const Failure &failure) {
    if (status != Status::ok) throw Error{failure};
}

plugin::Span start_of(const plugin::Buffer &buffer) {
    return {buffer.id, 0};
}

} // namespace

Device::Device(Ref<Host> host, const char *id) : host_(std::move(host)) {
    print_text(id_, sizeof id_, "%s", id);
}

Device::~Device() {
    backend_.drain(); // a failed call or open may have left work pending
    store_cache();
    free_scratch(scratch_);
    free(codebooks_, codebooks_bytes(), plugin::Memory::device);
}

void Device::release() {
    if (!refs_.release()) return;
    const Ref<Host> keep = host_;
    unmake(*keep, this);
}

Ref<Device> Device::open(const Ref<Host> &host, const plugin::Table &table, uint32_t index,
                         const char *id, const OpenOptions &options) {
    auto device = Ref<Device>::adopt(make<Device>(*host, host, id));
    device->start(table, index, nullptr, options);
    return device;
}

Ref<Device> Device::adopt(const Ref<Host> &host, const plugin::Table &table, const void *handles,
                          const OpenOptions &options) {
    auto device = Ref<Device>::adopt(make<Device>(*host, host, table.name));
    device->start(table, 0, handles, options);
    return device;
}

void Device::start(const plugin::Table &table, uint32_t index, const void *handles,
                   const OpenOptions &options) {
    Failure failure = {};
    plugin::OpenOptions given = {};
    Buffer stored;
    cache_ = options.cache;
    print_text(cache_key_, sizeof cache_key_, "ggufx-%s-%" PRIu32, table.name, plugin::kVersion);
    if (options.cache.load) {
        constexpr uint64_t kMostStored = 64 << 20;
        void *user = options.cache.user;
        const uint64_t n = options.cache.load(user, cache_key_, nullptr, 0);
        if (n > 0 && n <= kMostStored) {
            stored = Buffer(host_, static_cast<size_t>(n));
            given.cache_bytes = options.cache.load(user, cache_key_, stored.data(), n);
            if (given.cache_bytes > n) given.cache_bytes = 0; // it changed meanwhile
            given.cache = stored.data();
        }
    }
    require(handles ? backend_.adopt(table, handles, given, &failure)
                    : backend_.open(table, index, given, &failure),
            failure);
    require(backend_.queue_create(&failure), failure);
    allocate_scratch(scratch_, kScratchValues);
    load_codebooks();
    test_arithmetic(options);
}

void Device::detach() {
    const std::lock_guard guard(mutex_);
    backend_.drain();
    store_cache();
    backend_.detach();
    cache_ = {};
    bytes_.store(0, Order::relaxed);
}

plugin::Buffer Device::allocate(uint64_t bytes, plugin::Memory memory) {
    Failure failure = {};
    plugin::Buffer buffer = {};
    require(backend_.allocate(&buffer, bytes, memory, &failure), failure);
    if (memory == plugin::Memory::device) bytes_.add(bytes, Order::relaxed);
    return buffer;
}

void Device::free(plugin::Buffer &buffer, uint64_t bytes, plugin::Memory memory) {
    if (!buffer.id) return;
    backend_.free(buffer.id);
    buffer = {};
    if (backend_.detached()) return; // detach() has freed all buffers
    if (memory == plugin::Memory::device) bytes_.subtract(bytes, Order::relaxed);
}

namespace {

struct ScratchPart {
    plugin::Buffer Scratch::*buffer;
    uint64_t bytes;
    plugin::Memory memory;
};
constexpr size_t kScratchParts = 6;
void list_parts(ScratchPart (&out)[kScratchParts], uint64_t values) {
    constexpr auto device = plugin::Memory::device, staging = plugin::Memory::staging;
    constexpr uint64_t results = kScratchResults * sizeof(float);
    const ScratchPart parts[] = {
        {&Scratch::x, values * sizeof(float), device},
        {&Scratch::x_staging, values * sizeof(float), staging},
        {&Scratch::packed, packed_bytes(values), device},
        {&Scratch::sums, sums_bytes(values), device},
        {&Scratch::y, results, device},
        {&Scratch::y_staging, results, staging},
    };
    for (size_t i = 0; i < kScratchParts; i++) out[i] = parts[i];
}

} // namespace

void Device::allocate_scratch(Scratch &to, uint64_t values) {
    ScratchPart parts[kScratchParts];
    list_parts(parts, values);
    to.values = values;
    to.results = kScratchResults;
    try {
        for (const ScratchPart &part : parts) to.*part.buffer = allocate(part.bytes, part.memory);
    } catch (...) {
        free_scratch(to);
        throw;
    }
}

void Device::free_scratch(Scratch &scratch) {
    ScratchPart parts[kScratchParts];
    list_parts(parts, scratch.values);
    for (const ScratchPart &part : parts) free(scratch.*part.buffer, part.bytes, part.memory);
    scratch = {};
}

void Device::reserve(uint64_t k) {
    const uint64_t values = scratch_values(k);
    const std::lock_guard guard(mutex_);
    if (values <= scratch_.values) return;
    Scratch larger;
    allocate_scratch(larger, values);
    std::swap(scratch_, larger);
    free_scratch(larger);
}

void Device::load_codebooks() {
    Failure failure = {};
    codebooks_ = allocate(codebooks_bytes(), plugin::Memory::device);
    copy_codebooks(static_cast<uint8_t *>(scratch_.x_staging.mapped));
    const Status status = backend_.copy(start_of(codebooks_), start_of(scratch_.x_staging),
                                        codebooks_bytes(), &failure);
    require(status, failure);
}

plugin::Span Device::book_of(uint32_t type) const {
    const uint64_t at = codebook_at(type);
    return at == kNoCodebook ? plugin::Span{0, 0} : plugin::Span{codebooks_.id, at};
}

// Sets fma_ to the best variant that passed the self-test; false when there is none.
bool Device::choose_fma(const ProbeVerdict &verdict, const OpenOptions &options) {
    using plugin::Fma;
    const auto usable = [&](Fma fma) {
        const auto v = static_cast<uint32_t>(fma);
        return (backend_.facts().fma_variants >> v & 1) != 0 && verdict.fma[v];
    };
    const bool any = !options.fma_f64 && !options.fma_f32;
    if (any && usable(Fma::device)) {
        fma_ = Fma::device;
    } else if ((any || options.fma_f64) && usable(Fma::f64)) {
        fma_ = Fma::f64;
    } else if (!options.fma_f64 && usable(Fma::f32)) {
        fma_ = Fma::f32;
    } else {
        return false;
    }
    return true;
}

// Runs all cases on the device, after the operations recorded so far, and compares the results.
ProbeVerdict Device::probe(plugin::Fma fma, const uint32_t *cases) {
    Failure failure = {};
    // After the codebooks in staging memory, whose copy may be pending.
    const plugin::Span staging = {scratch_.x_staging.id, (codebooks_bytes() + 63) / 64 * 64};
    memcpy(static_cast<uint8_t *>(scratch_.x_staging.mapped) + staging.at, cases,
           kProbeOperandBytes);
    plugin::Launch launch = {};
    launch.op = plugin::Op::probe;
    launch.fma = fma;
    launch.n = kProbeCases;
    launch.x = start_of(scratch_.x);
    launch.y = start_of(scratch_.y);
    const auto step = [&](Status status) { require(status, failure); };
    step(backend_.copy(launch.x, staging, kProbeOperandBytes, &failure));
    step(backend_.barrier(&failure));
    step(backend_.launch(launch, &failure));
    step(backend_.barrier(&failure));
    step(backend_.copy(start_of(scratch_.y_staging), launch.y, kProbeResultBytes, &failure));
    step(backend_.submit(&failure));
    step(backend_.finish(&failure));
    return judge_probe(cases, static_cast<const uint32_t *>(scratch_.y_staging.mapped));
}

// Runs the self-test and chooses the fma variant. Throws when results would differ from the
// processor's, unless options.bounded allows that.
void Device::test_arithmetic(const OpenOptions &options) {
    const CanonicalFp canonical;
    Buffer operands(host_, kProbeOperandBytes);
    auto *cases = reinterpret_cast<uint32_t *>(operands.data());
    make_probe(cases);
    // The binary32 fma is half of the code that a driver compiles for the self-test, and rarely
    // needed.
    ProbeVerdict verdict = probe(plugin::Fma::device, cases);
    bool chosen = choose_fma(verdict, options);
    if (!chosen) {
        verdict = probe(plugin::Fma::f32, cases);
        chosen = choose_fma(verdict, options);
    }
    if (!chosen) {
        const bool any = !options.fma_f64 && !options.fma_f32;
        if (!options.bounded || !any)
            fail(Status::unsupported, {}, "%s: no fma of %s rounds once%s", id_,
                 backend_.facts().name, any ? "" : " in the requested way");
        fma_ = plugin::Fma::device;
        fault_ = "fma";
    }
    if (!verdict.fault) return;
    fault_ = verdict.fault;
    if (options.bounded) return;
    fail(Status::unsupported, {},
         "%s: %s of %s differs from that of the processor: %" PRIu32 " of %" PRIu32
         " cases, the first of 0x%08" PRIx32 " 0x%08" PRIx32 " 0x%08" PRIx32 ": 0x%08" PRIx32
         " for 0x%08" PRIx32,
         id_, verdict.fault, backend_.facts().name, verdict.n_different, kProbeCases,
         verdict.operands[0], verdict.operands[1], verdict.operands[2], verdict.got,
         verdict.wanted);
}

// Stores the driver's compiled programs. Errors are ignored: the next process compiles again.
void Device::store_cache() {
    if (!cache_.store || scratch_.values == 0) return;
    uint64_t n = 0;
    if (backend_.cache(nullptr, 0, &n, nullptr) != Status::ok || n == 0) return;
    void *data = host_->alloc(static_cast<size_t>(n), 64);
    uint64_t n_given = 0;
    if (data && backend_.cache(data, n, &n_given, nullptr) == Status::ok && n_given <= n)
        cache_.store(cache_.user, cache_key_, data, n_given);
    host_->free(data, static_cast<size_t>(n), 64);
}

} // namespace ggufx::device
