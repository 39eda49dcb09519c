// SPDX-License-Identifier: MIT
#include "device/rows.hpp"

#include "base/checked.hpp"
#include "device/sizes.hpp"
#include "formats/format.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::device {

namespace {

constexpr uint64_t kChunk = 8 << 20; // bytes between two progress polls

void copy_row_bytes(uint8_t *to, uint64_t to_stride, const uint8_t *from, uint64_t from_stride,
                    uint64_t row_bytes, uint64_t n_rows) {
    if (to_stride == row_bytes && from_stride == row_bytes) {
        memcpy(to, from, static_cast<size_t>(row_bytes * n_rows));
        return;
    }
    for (uint64_t r = 0; r < n_rows; r++)
        memcpy(to + r * to_stride, from + r * from_stride, static_cast<size_t>(row_bytes));
}

// Copies rows to the device's layout and pads each row with zeros.
void fill_row_bytes(uint8_t *to, uint64_t to_stride, const uint8_t *from, uint64_t from_stride,
                    uint64_t row_bytes, uint64_t n_rows) {
    copy_row_bytes(to, to_stride, from, from_stride, row_bytes, n_rows);
    for (uint64_t r = 0; to_stride > row_bytes && r < n_rows; r++)
        memset(to + r * to_stride + row_bytes, 0, static_cast<size_t>(to_stride - row_bytes));
}

// Copy of host rows into mapped memory by all workers of the thread pool.
struct HostCopy {
    uint8_t *to;
    const uint8_t *from;
    uint64_t to_stride, from_stride, row_bytes;

    static void chunk(const void *self, size_t first, size_t count, uint32_t) {
        const auto *c = static_cast<const HostCopy *>(self);
        fill_row_bytes(c->to + first * c->to_stride, c->to_stride, c->from + first * c->from_stride,
                       c->from_stride, c->row_bytes, count);
    }
};

[[noreturn]] void fail_cancelled() {
    fail(Status::cancelled, {}, "the progress callback cancelled the upload");
}

} // namespace

Rows::Rows(const Ref<Device> &device, const Size &size)
    : device_(device), row_bytes_(size.row_bytes), stride_(size.stride), n_rows_(size.n_rows),
      parts_(HostAllocator<RowChunk>(device->host().get())) {}

Rows::~Rows() {
    for (RowChunk &part : parts_)
        device_->free(part.buffer, bytes_of(stride_, part.n_rows), plugin::Memory::device);
}

void Rows::release() {
    if (!refs_.release()) return;
    const Ref<Device> keep = device_; // this object lies in the memory of the device's host
    unmake(*keep->host(), this);
}

const RowChunk &Rows::part_at(uint64_t at) const {
    const uint64_t row = at / stride_;
    size_t first = 0;
    for (size_t end = parts_.size(); end - first > 1;) {
        const size_t middle = first + (end - first) / 2;
        (parts_[middle].first_row <= row ? first : end) = middle;
    }
    return parts_[first];
}

void Rows::allocate(uint32_t type) {
    const uint64_t most = device_->backend().facts().buffer_bytes;
    const uint64_t rows_each = most > bytes_of(stride_, 1) ? (most - 128) / stride_ : 0;
    if (rows_each == 0)
        fail(Status::limit, {.value = row_bytes_, .limit = most},
             "a row of %" PRIu64 " bytes of %s does not fit a buffer of %s, %" PRIu64 " bytes",
             row_bytes_, fmt::type_info(type)->name, device_->id(), most);
    parts_.reserve(static_cast<size_t>((n_rows_ + rows_each - 1) / rows_each));
    for (uint64_t first = 0; first < n_rows_;) {
        const uint64_t n = std::min(rows_each, n_rows_ - first);
        const plugin::Buffer buffer =
            device_->allocate(bytes_of(stride_, n), plugin::Memory::device);
        parts_.push_back({first, n, buffer});
        first += n;
    }
}

namespace {

// Fills a part that the processor can access directly, with one copy.
void fill_mapped(Device &device, const RowChunk &part, const HostCopy &copy,
                 const Progress &progress, uint64_t done, uint64_t total) {
    const uint64_t each = std::max<uint64_t>(1, kChunk / copy.to_stride);
    for (uint64_t r = 0; r < part.n_rows; r += each) {
        const uint64_t n = std::min(each, part.n_rows - r);
        if (progress.cancelled(done + r * copy.row_bytes, total)) fail_cancelled();
        const HostCopy some = {copy.to + r * copy.to_stride, copy.from + r * copy.from_stride,
                               copy.to_stride, copy.from_stride, copy.row_bytes};
        const Progress never;
        const size_t unit = static_cast<size_t>(std::max<uint64_t>(1, (64 << 10) / copy.to_stride));
        const Loop loop = {static_cast<size_t>(n),  unit, unit, copy.row_bytes * 100, never, 0, 1,
                           static_cast<uint64_t>(n)};
        if (run(*device.host(), loop, HostCopy::chunk, &some) != Status::ok)
            HostCopy::chunk(&some, 0, static_cast<size_t>(n), 0);
    }
}

// Fills parts by way of staging memory, double-buffered: one half is filled while the other is
// copied.
class StagedFill {
public:
    StagedFill(Device &device, const Progress &progress, uint64_t total)
        : device_(device), progress_(progress), total_(total) {}

    void part(const RowChunk &part, const uint8_t *from, uint64_t from_stride, uint64_t stride,
              uint64_t row_bytes) {
        const uint64_t half = device_.scratch().values * sizeof(float) / 2;
        if (stride > half) return long_rows(part, from, from_stride, stride, row_bytes, half);
        const uint64_t each = half / stride;
        for (uint64_t r = 0; r < part.n_rows; r += each) {
            const uint64_t n = std::min(each, part.n_rows - r);
            uint8_t *to = begin();
            fill_row_bytes(to, stride, from + r * from_stride, from_stride, row_bytes, n);
            send({part.buffer.id, r * stride}, n * stride, n * row_bytes);
        }
    }
    void end() { wait(); }

private:
    void long_rows(const RowChunk &part, const uint8_t *from, uint64_t from_stride, uint64_t stride,
                   uint64_t row_bytes, uint64_t half) {
        for (uint64_t r = 0; r < part.n_rows; r++)
            for (uint64_t at = 0; at < row_bytes; at += half) {
                const uint64_t n = std::min(half, row_bytes - at);
                const uint64_t whole = std::min(half, stride - at); // with zero padding
                uint8_t *to = begin();
                fill_row_bytes(to, whole, from + r * from_stride + at, n, n, 1);
                send({part.buffer.id, r * stride + at}, whole, n);
            }
    }
    // Switches to the free half and returns it; the copy of the other may be pending.
    uint8_t *begin() {
        if (progress_.cancelled(done_, total_)) {
            device_.backend().drain();
            fail_cancelled();
        }
        const uint64_t half = device_.scratch().values * sizeof(float) / 2;
        at_ = at_ ? 0 : half;
        return static_cast<uint8_t *>(device_.scratch().x_staging.mapped) + at_;
    }
    void send(plugin::Span to, uint64_t n_bytes, uint64_t n_counted) {
        Failure failure = {};
        wait(); // for the previous copy
        Status status =
            device_.backend().copy(to, {device_.scratch().x_staging.id, at_}, n_bytes, &failure);
        if (status == Status::ok) status = device_.backend().submit(&failure);
        check(status, failure);
        done_ += n_counted;
    }
    void wait() {
        Failure failure = {};
        bool cancelled = false;
        check(device_.backend().finish(&cancelled, progress_, done_, total_, &failure), failure);
        if (cancelled) fail_cancelled();
    }
    void check(Status status, const Failure &failure) {
        if (status == Status::ok) return;
        device_.backend().drain();
        throw Error{failure};
    }

    Device &device_;
    const Progress &progress_;
    uint64_t total_, done_ = 0, at_ = 0;
};

} // namespace

void Rows::fill(const matmul::Weights &w, const Progress &progress) {
    const uint64_t total = row_bytes_ * n_rows_;
    const std::lock_guard guard(device_->lock());
    StagedFill staged(*device_, progress, total);
    for (const RowChunk &part : parts_) {
        const uint8_t *from = w.data + part.first_row * w.stride;
        auto *to = static_cast<uint8_t *>(part.buffer.mapped);
        if (to) {
            fill_mapped(*device_, part, {to, from, stride_, w.stride, row_bytes_}, progress,
                        part.first_row * row_bytes_, total);
        } else {
            staged.part(part, from, w.stride, stride_, row_bytes_);
        }
    }
    staged.end();
}

Ref<Rows> Rows::upload(const Ref<Device> &device, const matmul::Weights &w,
                       const Progress &progress) {
    const fmt::TypeInfo *type = fmt::type_info(w.type);
    uint64_t row_bytes = 0, stride = 0, whole = 0;
    if (!type || !fmt::row_bytes(&row_bytes, *type, w.n_cols) ||
        !checked::round_up(&stride, row_bytes, kRowBorder) ||
        !checked::mul(&whole, stride, w.n_rows) || whole > UINT64_MAX / 4)
        fail(Status::shape, {}, "rows of %" PRIu64 " values are too long for a device", w.n_cols);
    auto rows =
        Ref<Rows>::adopt(make<Rows>(*device->host(), device, Size{row_bytes, stride, w.n_rows}));
    if (row_bytes == 0 || w.n_rows == 0) return rows;
    device->reserve(w.n_cols);
    rows->allocate(w.type);
    rows->fill(w, progress);
    return rows;
}

Status Rows::read(uint64_t at, uint64_t n, Failure *failure) const {
    Backend &backend = device_->backend();
    const RowChunk &part = part_at(at);
    const plugin::Span staging = {device_->scratch().y_staging.id, 0};
    Status status = backend.copy(staging, {part.buffer.id, at - begin_of(part)}, n, failure);
    if (status == Status::ok) status = backend.submit(failure);
    if (status == Status::ok) status = backend.finish(failure);
    if (status != Status::ok) backend.drain();
    return status;
}

Status Rows::download(uint8_t *out, const View &view, Failure *failure) const {
    const std::lock_guard guard(device_->lock());
    const uint64_t room = device_->scratch().results * sizeof(float);
    const auto *staging = static_cast<const uint8_t *>(device_->scratch().y_staging.mapped);
    const uint64_t row_bytes = view.row_bytes;
    for (uint64_t r = 0, n; r < view.n_rows; r += n) {
        const uint64_t at = view.at + r * view.stride;
        const RowChunk &part = part_at(at);
        // Rows of the part that fit into staging memory together, or one row in pieces.
        const uint64_t end = begin_of(part) + part.n_rows * stride_;
        n = row_bytes > room
                ? 1
                : std::min({(room - row_bytes) / view.stride + 1,
                            (end - at - row_bytes) / view.stride + 1, view.n_rows - r});
        const uint64_t whole = (n - 1) * view.stride + row_bytes;
        for (uint64_t done = 0, piece; done < whole; done += piece) {
            piece = std::min(room, whole - done);
            const Status status = read(at + done, piece, failure);
            if (status != Status::ok) return status;
            if (whole > room)
                memcpy(out + r * row_bytes + done, staging, static_cast<size_t>(piece));
            else
                copy_row_bytes(out + r * row_bytes, row_bytes, staging, view.stride, row_bytes, n);
        }
    }
    return Status::ok;
}

Status Rows::sum_words(uint32_t *out, const View &view, Failure *failure) const {
    if (view.at % stride_ != 0 || view.stride != stride_ || view.row_bytes != row_bytes_)
        return set_failure(failure, Status::unsupported, {},
                           "the checksum of a part of each row cannot be computed");
    const std::lock_guard guard(device_->lock());
    uint32_t sum = 0;
    for (uint64_t row = view.at / stride_, end = row + view.n_rows, n; row < end; row += n) {
        const RowChunk &part = part_at(row * stride_);
        n = std::min(part.first_row + part.n_rows, end) - row;
        const plugin::Span from = {part.buffer.id, (row - part.first_row) * stride_};
        const Status status = device_->sum_words(&sum, from, n * stride_, failure);
        if (status != Status::ok) return status;
    }
    *out = sum;
    return Status::ok;
}

} // namespace ggufx::device
