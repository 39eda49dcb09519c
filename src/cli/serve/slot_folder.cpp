// SPDX-License-Identifier: MIT
#include "serve/slot_folder.hpp"

#include "common/little_endian.hpp"
#include "common/part_file.hpp"
#include "common/random.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"
#include "serve/api_error.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

constexpr std::string_view kEnd = ".slot", kPartEnd = ".slot.part";
constexpr std::string_view kSecretName = "names.key", kSecretPartEnd = ".key.part";
constexpr size_t kSecretBytes = sizeof(HashSecret);

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw Failure(kRuntimeError, fmt::format("--slot-dir: \"{}\": {}", escape(path), why));
}

// Calls `use` with the name of each entry.
template <class Use> void each_entry(const std::string &folder, const Use &use) {
    const std::unique_ptr<DIR, int (*)(DIR *)> entries(opendir(folder.c_str()), closedir);
    if (!entries) fail(folder, std::strerror(errno));
    while (const struct dirent *const entry = readdir(entries.get())) use(entry->d_name);
}

std::string prefix_of(uint64_t owner) {
    return owner ? fmt::format("{:016x}-", owner) : "";
}

// Returns the bytes of the secret, nothing if there is no file.
std::string read_secret(const std::string &path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return "";
    if (fd < 0) fail(path, std::strerror(errno));
    struct stat info = {};
    char bytes[kSecretBytes + 1];
    const bool is_known = fstat(fd, &info) == 0;
    const ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (!is_known || n != static_cast<ssize_t>(kSecretBytes))
        fail(path,
             fmt::format("is no secret of {} bytes: delete it (the snapshots of keys are lost "
                         "then)",
                         kSecretBytes));
    if ((info.st_mode & 077) != 0)
        fail(path, fmt::format("other users may read the secret (mode {:o}, 600 is needed)",
                               info.st_mode & 0777));
    return std::string(bytes, kSecretBytes);
}

// Several servers may start at once: the first file counts.
void make_secret(const std::string &path) {
    const std::string part = fmt::format("{}.{:016x}{}", path, random_number(), kSecretPartEnd);
    std::string bytes;
    for (size_t i = 0; i < std::size(HashSecret()); i++) put_number(bytes, random_number(), 8);
    const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) fail(part, std::strerror(errno));
    const bool is_written =
        lock_file(fd) && fchmod(fd, 0600) == 0 &&
        write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
        fsync(fd) == 0;
    int error = is_written ? 0 : errno;
    close(fd);
    if (error == 0) error = publish_part_file(part, path, false);
    if (error != 0) unlink(part.c_str());
    if (error != 0 && error != EEXIST) fail(path, std::strerror(error));
}

void remove_leftover(const std::string &path) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return; // a save of this name reports it
    struct stat info = {};
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && lock_file(fd) && is_at(fd, path))
        unlink(path.c_str());
    close(fd);
}

} // namespace

HashSecret slot_secret(const std::string &folder) {
    const std::string path = fmt::format("{}/{}", folder, kSecretName);
    if (read_secret(path).empty()) make_secret(path);
    const std::string bytes = read_secret(path);
    if (bytes.empty()) fail(path, std::strerror(ENOENT));
    HashSecret out = {};
    for (size_t i = 0; i < bytes.size(); i++)
        out[i / 8] |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * (i % 8));
    return out;
}

void sweep_slot_folder(const std::string &folder) {
    each_entry(folder, [&](std::string_view name) {
        if (name.ends_with(kPartEnd) ||
            (name.starts_with(kSecretName) && name.ends_with(kSecretPartEnd)))
            remove_leftover(folder + "/" + std::string(name));
    });
}

std::string slot_file_name(uint64_t owner, const std::string &name) {
    return prefix_of(owner) + name + std::string(kEnd);
}

void require_quota(const std::string &folder, uint64_t owner, const std::string &file_name,
                   uint64_t n_bytes, const SlotQuota &quota) {
    const std::string prefix = prefix_of(owner);
    uint64_t n_files = 1, n_all = n_bytes;
    each_entry(folder, [&](std::string_view name) {
        if (!name.starts_with(prefix) || !name.ends_with(kEnd) || name == file_name) return;
        struct stat info = {};
        if (lstat((folder + "/" + std::string(name)).c_str(), &info) != 0) return; // just deleted
        n_files++;
        n_all += static_cast<uint64_t>(info.st_size);
    });
    const char *const advice = "delete one with DELETE /slots/N";
    if (quota.n_files > 0 && n_files > quota.n_files)
        throw ApiError(403,
                       fmt::format("the key would have {} snapshots, the limit is {}: {}", n_files,
                                   quota.n_files, advice),
                       "", "slot_quota");
    if (quota.n_bytes > 0 && n_all > quota.n_bytes)
        throw ApiError(403,
                       fmt::format("the snapshots of the key would have {} bytes, the limit is {} "
                                   "(see --slot-quota of the server): {}",
                                   n_all, quota.n_bytes, advice),
                       "", "slot_quota");
}

} // namespace ggufx::cli
