// Device for matrix products: an opened plugin, its self-test and the scratch memory of calls. The
// device executes one call at a time; other calls wait.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "device/backend.hpp"
#include "matmul/remote.hpp"

#include <mutex>

namespace ggufx::device {

// Callbacks to cache the programs that a driver compiled, across processes. Both may be null. load
// returns the size of the stored data and copies at most `capacity` bytes.
struct CacheHooks {
    void *user;
    uint64_t (*load)(void *user, const char *key, void *out, uint64_t capacity);
    void (*store)(void *user, const char *key, const void *data, uint64_t n_bytes);
};

struct OpenOptions {
    bool bounded = false;                  // accept results that differ from the processor's
    bool fma_f64 = false, fma_f32 = false; // for tests: use this fma variant only
    CacheHooks cache = {};
};

// Device memory that calls use one after the other.
struct Scratch {
    plugin::Buffer x = {}, x_staging = {}; // f32 columns
    plugin::Buffer packed = {}, sums = {}; // packed activations, and sums per 32 or 16 values
    plugin::Buffer y = {}, y_staging = {}; // results
    uint64_t values = 0, results = 0;      // capacities of x and y, in floats
};

class Device final : public matmul::Remote {
public:
    // Opens device `index` of a plugin. `id` is its public id, "vulkan:0". Throws Error /
    // std::bad_alloc.
    static Ref<Device> open(const Ref<Host> &host, const plugin::Table &table, uint32_t index,
                            const char *id, const OpenOptions &options);
    // Opens a device that the host created; `handles` has the plugin's own type.
    static Ref<Device> adopt(const Ref<Host> &host, const plugin::Table &table, const void *handles,
                             const OpenOptions &options);
    // Closes the plugin's device after pending work is done. The device counts as lost from then
    // on.
    void detach();
    void retain() { refs_.retain(); }
    void release();

    const Ref<Host> &host() const { return host_; }
    Backend &backend() { return backend_; }
    std::mutex &lock() { return mutex_; }
    const char *id() const { return id_; }
    plugin::Fma fma() const { return fma_; }
    bool exact() const { return fault_ == nullptr; }
    const char *fault() const { return fault_; } // first operation that is not exact, or null

    Status multiply(matmul::Call &call, const matmul::RemoteProduct *list, size_t n_list,
                    Failure *failure) override;
    // Adds the 32-bit words of n bytes from `at` on to *sum; at.at and n are multiples of 16. The
    // caller holds the lock.
    Status sum_words(uint32_t *sum, plugin::Span at, uint64_t n, Failure *failure);

    // Grows scratch so that columns of k values fit. Throws when memory runs out.
    void reserve(uint64_t k);
    const Scratch &scratch() const { return scratch_; }
    plugin::Span book_of(uint32_t type) const;

    // Allocates and frees buffers; bytes() counts those in device memory. allocate() throws.
    plugin::Buffer allocate(uint64_t bytes, plugin::Memory memory);
    void free(plugin::Buffer &buffer, uint64_t bytes, plugin::Memory memory);
    uint64_t bytes() const { return bytes_.load(Order::relaxed); }

private:
    Device(Ref<Host> host, const char *id);
    ~Device();
    template <class T, class... A> friend T *ggufx::make(const Host &, A &&...);
    template <class T> friend void ggufx::unmake(const Host &, T *);
    void start(const plugin::Table &table, uint32_t index, const void *handles,
               const OpenOptions &options);
    void allocate_scratch(Scratch &to, uint64_t values); // throws and frees its parts on failure
    void free_scratch(Scratch &scratch);
    void load_codebooks();
    void test_arithmetic(const OpenOptions &options);
    struct ProbeVerdict probe(plugin::Fma fma, const uint32_t *cases);
    bool choose_fma(const struct ProbeVerdict &verdict, const OpenOptions &options);
    void store_cache();

    RefCount refs_;
    Ref<Host> host_;
    char id_[40];
    char cache_key_[320];
    CacheHooks cache_ = {};
    Backend backend_;
    std::mutex mutex_; // guards the queue and scratch_
    Scratch scratch_;
    plugin::Buffer codebooks_{}; // codebooks, one after the other
    plugin::Fma fma_ = plugin::Fma::device;
    const char *fault_ = nullptr;
    Atomic<uint64_t> bytes_{0};
};

} // namespace ggufx::device
