// SPDX-License-Identifier: MIT
#include "gguf/window.hpp"

#include "base/checked.hpp"

#include <string.h>

namespace ggufx::gguf {

namespace {
constexpr uint64_t kFirstRead = uint64_t{64} << 10; // holds the directory of most small files
} // namespace

Window::Window(Part &part, io::Source &source, const OpenOptions &options)
    : part_(part), source_(source), progress_(options.progress) {
    poll(0);
    if (options.io != IoMode::read && part.size > 0) map(options);
}

void Window::map(const OpenOptions &options) {
    const bool must = options.io == IoMode::map;
    size_t n = 0;
    if (!checked::to_size(&n, part_.size)) {
        if (must)
            fail(Status::limit, {.value = part_.size},
                 "%s: a file of %llu bytes does not fit the address space", source_.name(),
                 static_cast<unsigned long long>(part_.size));
        return;
    }
    int32_t error = 0;
    const uint8_t *data = source_.map(n, &error);
    if (data) {
        part_.mapping = io::Mapping(Ref<io::Source>::share(&source_), data, n);
        data_ = data;
        loaded_ = n;
    } else if (must) {
        fail(Status::io, {.system_error = error}, "%s: cannot map %llu bytes: %s (%d)",
             source_.name(), static_cast<unsigned long long>(n), io::system_text(error), error);
    }
}

void Window::poll(uint64_t done) const {
    if (progress_.cancelled(done, 0)) fail(Status::cancelled, {}, "open was cancelled");
}

void Window::require(uint64_t n) {
    while (loaded_ < n) {
        uint64_t want = loaded_ ? loaded_ * 2 : kFirstRead;
        if (want > part_.size) want = part_.size;
        size_t bytes = 0;
        if (!checked::to_size(&bytes, want))
            fail(Status::limit, {.value = loaded_},
                 "metadata of more than %llu bytes do not fit the address space",
                 static_cast<unsigned long long>(loaded_));
        Buffer larger(part_.host, bytes);
        if (loaded_) memcpy(larger.data(), data_, static_cast<size_t>(loaded_));
        for (uint64_t at = loaded_; at < want;) {
            poll(at);
            const uint64_t step = want - at < io::kChunk ? want - at : io::kChunk;
            source_.read(at, larger.data() + at, static_cast<size_t>(step));
            at += step;
        }
        part_.meta_buffer = std::move(larger);
        data_ = part_.meta_buffer.data();
        loaded_ = want;
    }
}

} // namespace ggufx::gguf
