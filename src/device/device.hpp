// A device that multiplies: an opened plug-in, its self-test, memory for the calls that use it. One
// call at a time works on it; others wait.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "device/backend.hpp"
#include "matmul/remote.hpp"

#include <mutex>

namespace ggufx::device {

// Programs a driver compiled, kept by the host from one process to the next. Both may be null; load
// gives how many bytes there are and copies at most `capacity`.
struct CacheHooks {
    void *user;
    uint64_t (*load)(void *user, const char *key, void *out, uint64_t capacity);
    void (*store)(void *user, const char *key, const void *data, uint64_t n_bytes);
};

struct OpenOptions {
    bool bounded = false;                  // also where not every bit is the processor's
    bool fma_f64 = false, fma_f32 = false; // this one, for tests
    CacheHooks cache = {};
};

// Memory of a device that calls use in turn.
struct Scratch {
    plugin::Buffer x = {}, x_staging = {}; // f32 columns
    plugin::Buffer packed = {}, sums = {}; // what is made of them
    plugin::Buffer y = {}, y_staging = {}; // results
    uint64_t values = 0, results = 0;      // of x, of y
};

class Device final : public matmul::Remote {
public:
    // Throws Error / std::bad_alloc. `id` is what the host calls it: "vulkan:0".
    static Ref<Device> open(const Ref<Host> &host, const plugin::Table &table, uint32_t index,
                            const char *id, const OpenOptions &options);
    // The device of the host that `handles` name, as the plug-in wants them.
    static Ref<Device> adopt(const Ref<Host> &host, const plugin::Table &table, const void *handles,
                             const OpenOptions &options);
    // Nothing of it is on the device any more, which counts as lost from then on.
    void detach();
    void retain() { refs_.retain(); }
    void release();

    const Ref<Host> &host() const { return host_; }
    Backend &backend() { return backend_; }
    std::mutex &lock() { return mutex_; }
    const char *id() const { return id_; }
    plugin::Fma fma() const { return fma_; }
    bool exact() const { return fault_ == nullptr; }
    const char *fault() const { return fault_; } // the operation that is not exact

    Status multiply(matmul::Call &call, const matmul::RemoteProduct *list, size_t n_list,
                    Failure *failure) override;
    // The sum of the words of bytes `at` .. `at` + n - 1 of a buffer, both whole 16s; its caller has the
    // lock. Adds to *sum.
    Status sum_words(uint32_t *sum, plugin::Span at, uint64_t n, Failure *failure);

    // Rows of k values will come: throws when there is no memory for a column of them.
    void reserve(uint64_t k);
    const Scratch &scratch() const { return scratch_; }
    plugin::Span book_of(uint32_t type) const;

    // Buffers in the device's memory, counted. Throws.
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
    void allocate_scratch(Scratch &to, uint64_t values); // throws, and nothing is left
    void free_scratch(Scratch &scratch);
    void load_books();
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
    std::mutex mutex_; // of the queue and of scratch
    Scratch scratch_;
    plugin::Buffer books_{}; // codebooks, one after the other
    plugin::Fma fma_ = plugin::Fma::device;
    const char *fault_ = nullptr;
    Atomic<uint64_t> bytes_{0};
};

} // namespace ggufx::device
