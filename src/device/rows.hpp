// Rows of weights in device memory: the bytes of the file, each row aligned to 16 bytes, in as few
// buffers as the device allows.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/refcount.hpp"
#include "device/device.hpp"

namespace ggufx::device {

// Range of rows in a buffer of its own.
struct RowChunk {
    uint64_t first_row, n_rows;
    plugin::Buffer buffer;
};

// Uploaded rows, immutable. Byte offsets count as if all parts were contiguous.
class Rows {
public:
    // Copies the rows of w.data. Throws Error (also cancelled) / std::bad_alloc and frees all
    // buffers on failure.
    static Ref<Rows> upload(const Ref<Device> &device, const matmul::Weights &w,
                            const Progress &progress);

    void retain() { refs_.retain(); }
    void release();

    uint64_t stride() const { return stride_; }
    matmul::RemoteRows remote() const { return {device_.get(), this, 0, stride_}; }

    // The part that contains byte `at`, or the last one for an offset after the end.
    const RowChunk &part_at(uint64_t at) const;
    uint64_t begin_of(const RowChunk &part) const { return part.first_row * stride_; }

    // Copies n_rows rows of row_bytes each, starting at byte `at`, to out[n_rows][row_bytes]. Does
    // not throw or allocate.
    struct View {
        uint64_t at, stride, row_bytes, n_rows;
    };
    Status download(uint8_t *out, const View &view, Failure *failure) const;
    // Adds up the 32-bit words of whole rows with their zero padding. Returns unsupported for a
    // part of each row.
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
    Vector<RowChunk> parts_;
};

} // namespace ggufx::device
