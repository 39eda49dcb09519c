// Rows of weights in the memory of a device: the bytes of the file, each row on a border of 16 bytes,
// in as few buffers as the device allows.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/refcount.hpp"
#include "device/device.hpp"

namespace ggufx::device {

// A run of rows in a buffer of its own.
struct Part {
    uint64_t first_row, n_rows;
    plugin::Buffer buffer;
};

// Immutable once made. Its bytes are counted as if all parts stood one behind the other.
class Rows {
public:
    // Copies the rows w.data; throws Error (also cancelled) / std::bad_alloc, and nothing is left.
    static Ref<Rows> upload(const Ref<Device> &device, const matmul::Weights &w,
                            const Progress &progress);

    void retain() { refs_.retain(); }
    void release();

    uint64_t stride() const { return stride_; }
    matmul::RemoteRows remote() const { return {device_.get(), this, 0, stride_}; }

    // The part with byte `at`, which is one of a row or behind it.
    const Part &part_at(uint64_t at) const;
    uint64_t begin_of(const Part &part) const { return part.first_row * stride_; }

    // n_rows rows of row_bytes each, from byte `at` on, to out[n_rows][row_bytes]. Neither throws nor
    // allocates.
    struct View {
        uint64_t at, stride, row_bytes, n_rows;
    };
    Status download(uint8_t *out, const View &view, Failure *failure) const;
    // The sum of the words of whole rows, each filled up with zeros; refuses a part of rows.
    Status sum_words(uint32_t *out, const View &view, Failure *failure) const;

private:
    struct Size {
        uint64_t row_bytes, stride, n_rows;
    };
    Rows(const Ref<Device> &device, const Size &size);
    ~Rows();
    template <class T, class... A> friend T *ggufx::make(const Host &, A &&...);
    template <class T> friend void ggufx::unmake(const Host &, T *);
    void allocate(uint32_t type);
    Status read(uint64_t at, uint64_t n, Failure *failure) const; // into staging memory
    void fill(const matmul::Weights &w, const Progress &progress);

    RefCount refs_;
    Ref<Device> device_;
    uint64_t row_bytes_, stride_, n_rows_;
    Vector<Part> parts_;
};

} // namespace ggufx::device
