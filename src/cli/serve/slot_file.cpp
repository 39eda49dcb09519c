// SPDX-License-Identifier: MIT
#include "serve/slot_file.hpp"

#include "common/little_endian.hpp"
#include "common/part_file.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

constexpr std::string_view kMagic = "GGUFXSLT1\n";

uint64_t hash_of(std::string_view bytes) {
    uint64_t hash = bytes.size();
    for (const char byte : bytes) hash = PrefixIndex::mixed(hash, static_cast<unsigned char>(byte));
    return hash;
}

// Returns the header before the snapshot, which has its own checksum.
std::string head_of(const SlotContent &content) {
    std::string out(kMagic);
    put_number(out, content.fingerprint.size(), 8);
    out += content.fingerprint;
    put_number(out, content.codes.size(), 8);
    for (const PrefixIndex::Code code : content.codes) put_number(out, code, 4);
    put_number(out, hash_of(out), 8);
    return out;
}

// Temporary file, deleted unless it is completely written.
class PartFile {
public:
    explicit PartFile(const std::string &path)
        : path_(path), part_(path + ".part"), fd_(open_part_file(part_, path)) {
        fchmod(fd_, 0600);
    }
    ~PartFile() {
        if (fd_ < 0) return;
        unlink(part_.c_str());
        close(fd_);
    }
    PartFile(const PartFile &) = delete;
    PartFile &operator=(const PartFile &) = delete;
    void write_all(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = write(fd_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) fail(n < 0 ? errno : ENOSPC);
            bytes.remove_prefix(static_cast<size_t>(n));
        }
    }
    void publish() {
        if (fsync(fd_) != 0 && errno != EINVAL) fail(errno);
        if (const int error = publish_part_file(part_, path_, true)) fail(error);
        close(fd_);
        fd_ = -1;
    }

private:
    [[noreturn]] void fail(int error) {
        throw Failure(kRuntimeError, fmt::format("cannot write the snapshot \"{}\": {}",
                                                 escape(path_.substr(path_.rfind('/') + 1)),
                                                 std::strerror(error)));
    }
    std::string path_, part_;
    int fd_;
};

// Reads numbers and bytes sequentially from a file in memory.
class Cursor {
public:
    explicit Cursor(std::string_view bytes) : all_(bytes), left_(bytes) {}
    std::string_view take(uint64_t n) {
        if (n > left_.size()) throw Failure(kInvalidFile, "the snapshot is truncated");
        const std::string_view out = left_.substr(0, n);
        left_.remove_prefix(n);
        return out;
    }
    uint64_t number(unsigned n_bytes) {
        uint64_t out = 0;
        const std::string_view bytes = take(n_bytes);
        for (unsigned i = 0; i < n_bytes; i++)
            out |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
        return out;
    }
    std::string_view taken() const { return all_.substr(0, all_.size() - left_.size()); }
    std::string_view left() const { return left_; }

private:
    std::string_view all_, left_;
};

std::string read_all(const std::string &path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) throw Failure(kRuntimeError, std::strerror(errno));
    std::string out;
    struct stat info = {};
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        out.resize(static_cast<size_t>(info.st_size));
        size_t n_read = 0;
        ssize_t n = 1;
        while (n > 0 && n_read < out.size()) {
            n = read(fd, out.data() + n_read, out.size() - n_read);
            if (n > 0) n_read += static_cast<size_t>(n);
        }
        out.resize(n_read);
    }
    close(fd);
    return out;
}

} // namespace

uint64_t slot_file_bytes(const SlotContent &content) {
    return head_of(content).size() + content.snapshot.size();
}

void write_slot_file(const std::string &path, const SlotContent &content) {
    PartFile file(path);
    file.write_all(head_of(content));
    file.write_all(content.snapshot);
    file.publish();
}

SlotContent read_slot_file(const std::string &path) {
    const std::string bytes = read_all(path);
    Cursor at(bytes);
    if (at.take(std::min(kMagic.size(), bytes.size())) != kMagic)
        throw Failure(kInvalidFile, "the file is not a snapshot of a slot");
    SlotContent out;
    out.fingerprint = at.take(at.number(8));
    const uint64_t n = at.number(8);
    if (n > bytes.size() / 4) throw Failure(kInvalidFile, "the snapshot is truncated");
    for (uint64_t i = 0; i < n; i++)
        out.codes.push_back(static_cast<PrefixIndex::Code>(at.number(4)));
    const uint64_t hash = hash_of(at.taken());
    if (at.number(8) != hash) throw Failure(kInvalidFile, "the snapshot's checksum differs");
    out.snapshot = at.left();
    return out;
}

} // namespace ggufx::cli
