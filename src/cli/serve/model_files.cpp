// SPDX-License-Identifier: MIT
#include "serve/model_files.hpp"

#include "common/text.hpp"
#include "common/tool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

constexpr uint64_t kSampleBytes = 64u << 10;
// Samples per file: up to 64 MiB the whole content counts, beyond that samples at equal distances.
constexpr uint64_t kMostSamples = 1024;
constexpr size_t kSamplesPerLook = 8;
constexpr double kSecondsBetweenLooks = 1;

uint64_t n_samples(uint64_t n_bytes) {
    return std::min((n_bytes + kSampleBytes - 1) / kSampleBytes, kMostSamples);
}

uint64_t sample_offset(uint64_t n_bytes, uint64_t i) {
    if (n_bytes <= kSampleBytes * kMostSamples) return i * kSampleBytes;
    const uint64_t last = n_bytes - kSampleBytes;
    // Both products fit: i < 1024, and a file has less than 2^54 bytes on any file system.
    return last * i / (kMostSamples - 1);
}

// Four chains of FNV-1a over 64-bit words: faster than reading.
uint64_t hash_of(const uint64_t *words, size_t n) {
    constexpr uint64_t prime = 1099511628211u;
    std::array<uint64_t, 4> lanes = {14695981039346656037u, 1, 2, 3};
    for (size_t i = 0; i < n; i += lanes.size())
        for (size_t k = 0; k < lanes.size(); k++) {
            const uint64_t mixed = (lanes[k] ^ words[i + k]) * prime;
            lanes[k] = mixed ^ mixed >> 32;
        }
    uint64_t out = n;
    for (const uint64_t lane : lanes) out = (out ^ lane) * prime;
    return out;
}

void note_times(int64_t (&out)[4], const struct stat &info) {
    out[0] = info.st_mtim.tv_sec;
    out[1] = info.st_mtim.tv_nsec;
    out[2] = info.st_ctim.tv_sec;
    out[3] = info.st_ctim.tv_nsec;
}

// A write right after this one might have the same times.
bool is_recent(const struct stat &info) {
    const int64_t age = std::time(nullptr) - info.st_ctim.tv_sec;
    return age >= 0 && age <= 1;
}

// Returns the paths of all parts, if this is one of a split set: NAME-00002-of-00003.gguf.
std::vector<std::string> parts_of(const std::string &path) {
    constexpr std::string_view tail = "-00002-of-00003.gguf";
    if (path.size() <= tail.size()) return {path};
    const size_t at = path.size() - tail.size();
    unsigned n = 0;
    const char *const digits = path.data() + at + 10;
    const auto [end, error] = std::from_chars(digits, digits + 5, n);
    if (path[at] != '-' || path.compare(at + 6, 4, "-of-") != 0 || !path.ends_with(".gguf") ||
        error != std::errc() || end != digits + 5 || n == 0)
        return {path};
    std::vector<std::string> out;
    for (unsigned i = 1; i <= n; i++)
        out.push_back(fmt::format("{}-{:05}{}", path.substr(0, at), i, path.substr(at + 6)));
    return out;
}

} // namespace

ModelFiles::ModelFiles(const std::vector<std::string> &paths) : words_(kSampleBytes / 8) {
    for (const std::string &path : paths)
        for (const std::string &part : parts_of(path)) open(part);
}

ModelFiles::~ModelFiles() {
    for (const File &file : files_)
        if (file.fd >= 0) close(file.fd);
}

// A pipe must not be opened twice. Errors of opening are reported by the load.
void ModelFiles::open(const std::string &path) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    File &file = files_.emplace_back();
    file.path = path;
    file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.fd < 0 || fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
    file.device = info.st_dev;
    file.node = info.st_ino;
    file.n_bytes = static_cast<uint64_t>(info.st_size);
    if (is_recent(info))
        (void)note_samples(file);
    else
        note_times(file.times, info);
}

// Returns false if a sample cannot be read whole.
bool ModelFiles::note_samples(File &file) {
    for (uint64_t i = 0; i < n_samples(file.n_bytes); i++) {
        uint64_t hash = 0;
        if (!hash_sample(file, i, hash)) return false;
        file.hashes.push_back(hash);
    }
    return true;
}

// Returns whether the content has its size and time of before. Links and rights may have changed.
bool ModelFiles::is_untouched(const File &file) const {
    struct stat info = {};
    int64_t times[4];
    if (file.fd < 0 || fstat(file.fd, &info) != 0) return false;
    note_times(times, info);
    return static_cast<uint64_t>(info.st_size) == file.n_bytes &&
           std::equal(times, times + 2, file.times);
}

void ModelFiles::loaded(bool is_mapped) {
    is_mapped_ = is_mapped;
    for (File &file : files_)
        if (file.hashes.empty() ? !is_untouched(file) || !note_samples(file) : !is_same(file))
            throw Failure(kRuntimeError, in_quotes(file.path) + " changed while it was loaded");
    if (is_mapped) guard_.begin();
}

uint64_t ModelFiles::n_bytes() const {
    uint64_t n = 0;
    for (const File &file : files_) n += file.n_bytes;
    return n;
}

bool ModelFiles::is_same(File &file) {
    struct stat info = {};
    if (file.fd < 0 || fstat(file.fd, &info) != 0) return false;
    if (static_cast<uint64_t>(info.st_size) != file.n_bytes) return false;
    int64_t times[4];
    note_times(times, info);
    if (std::equal(std::begin(times), std::end(times), file.times)) return true;
    if (!has_same_samples(file, 0, file.hashes.size())) return false;
    if (!is_recent(info)) std::copy(std::begin(times), std::end(times), file.times);
    return true;
}

// Returns false if the sample cannot be read whole.
bool ModelFiles::hash_sample(const File &file, uint64_t i, uint64_t &out) {
    const uint64_t offset = sample_offset(file.n_bytes, i);
    const auto wanted = static_cast<size_t>(std::min(kSampleBytes, file.n_bytes - offset));
    auto *const bytes = reinterpret_cast<char *>(words_.data());
    size_t n = 0;
    while (n < wanted) {
        const ssize_t got = pread(file.fd, bytes + n, wanted - n, static_cast<off_t>(offset + n));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        n += static_cast<size_t>(got);
    }
    std::memset(bytes + n, 0, kSampleBytes - n);
    out = hash_of(words_.data(), words_.size());
    return true;
}

bool ModelFiles::has_same_samples(const File &file, size_t first, size_t n) {
    if (file.hashes.size() != n_samples(file.n_bytes)) return false;
    for (size_t i = first; i < first + n; i++) {
        uint64_t hash = 0;
        if (!hash_sample(file, i, hash) || hash != file.hashes[i]) return false;
    }
    return true;
}

// File systems of a network may change a file without its times. All samples have their turn.
bool ModelFiles::has_next_samples() {
    if (files_.empty()) return true;
    const File &file = files_[next_file_];
    const size_t n = std::min(kSamplesPerLook, file.hashes.size() - next_sample_);
    const bool is_same = has_same_samples(file, next_sample_, n);
    next_sample_ += n;
    if (next_sample_ < file.hashes.size()) return is_same;
    next_sample_ = 0;
    next_file_ = (next_file_ + 1) % files_.size();
    return is_same;
}

void ModelFiles::report(const char *why) {
    if (!is_changed_.exchange(true)) std::fprintf(stderr, "ggufx: %s\n", why);
}

ModelFiles::State ModelFiles::state() {
    if (MappingGuard::has_lost_data())
        report("the file of the model lost data that the server needs: restart the server");
    if (is_changed_) return State::changed;
    const std::lock_guard lock(mutex_);
    bool is_replaced = false;
    for (File &file : files_) {
        const bool is_file_same = is_same(file);
        if (is_mapped_ && !is_file_same) {
            report(kChanged);
            return State::changed;
        }
        struct stat info = {};
        is_replaced = is_replaced || !is_file_same || stat(file.path.c_str(), &info) != 0 ||
                      info.st_dev != file.device || info.st_ino != file.node;
    }
    return is_replaced ? State::replaced : State::same;
}

bool ModelFiles::is_intact(double now) {
    if (is_changed_ || MappingGuard::has_lost_data() || now < next_look_ || !is_mapped_)
        return !is_changed_ && !MappingGuard::has_lost_data();
    next_look_ = now + kSecondsBetweenLooks;
    if (state() == State::changed) return false;
    const std::lock_guard lock(mutex_);
    if (!has_next_samples()) report(kChanged);
    return !is_changed_;
}

} // namespace ggufx::cli
