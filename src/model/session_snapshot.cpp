// Saving and loading a sequence: magic, version, number of tokens in all and in the caches, ids,
// modes, CRC-64 of all so far; then the caches (run/snapshot.cpp). Little-endian.
// SPDX-License-Identifier: MIT
#include "base/snapshot_file.hpp"
#include "model/mode.hpp"
#include "model/session.hpp"

#include <string.h>

namespace ggufx::model {

namespace {

constexpr char kMagic[9] = "GGUFXSN\n";
constexpr uint32_t kVersion = 2;

// Until the caches are loaded.
struct Head {
    uint64_t length = 0, held = 0;
    Vector<int32_t> ids;
    Vector<uint8_t> modes;
};

Status read_failed(const SnapshotInput &in, Failure *failure) {
    return set_failure(failure, in.status(), {}, "the reader of a snapshot failed");
}

Status read_counts(SnapshotInput &in, Head &head, uint32_t n_context, Failure *failure) {
    char magic[8] = {};
    in.bytes(magic, sizeof magic);
    const uint32_t version = in.u32();
    head.length = in.u64();
    head.held = in.u64();
    if (in.status() != Status::ok) return read_failed(in, failure);
    if (memcmp(magic, kMagic, sizeof magic) != 0)
        return set_failure(failure, Status::magic, {}, "this is no snapshot of a session");
    if (version != kVersion)
        return set_failure(failure, Status::version, {},
                           "snapshot of a session of version %u, not %u", version, kVersion);
    if (head.length > n_context)
        return set_failure(failure, Status::capacity, {},
                           "the snapshot has %llu tokens, the session room for %u",
                           static_cast<unsigned long long>(head.length), n_context);
    if (head.held <= head.length) return Status::ok;
    return set_failure(
        failure, Status::malformed, {}, "snapshot of a session: %llu tokens in the caches of %llu",
        static_cast<unsigned long long>(head.held), static_cast<unsigned long long>(head.length));
}

Status read_ids(SnapshotInput &in, Head &head, uint64_t n_vocab, Failure *failure) {
    for (uint64_t i = 0; i < head.length; i++) {
        const int32_t id = in.i32();
        if (in.status() != Status::ok) return read_failed(in, failure);
        if (id < 0 || static_cast<uint64_t>(id) >= n_vocab)
            return set_failure(failure, Status::malformed, {.index = i},
                               "snapshot of a session: token %llu is %d, the vocabulary has %llu",
                               static_cast<unsigned long long>(i), id,
                               static_cast<unsigned long long>(n_vocab));
        head.ids.push_back(id);
    }
    return Status::ok;
}

Status read_modes(SnapshotInput &in, Head &head, Failure *failure) {
    head.modes.resize(static_cast<size_t>(head.length));
    in.bytes(head.modes.data(), head.modes.size());
    if (in.status() != Status::ok) return read_failed(in, failure);
    for (size_t i = 0; i < head.modes.size(); i++)
        if (!is_mode(head.modes[i]))
            return set_failure(failure, Status::malformed, {.index = i},
                               "snapshot of a session: mode %u of token %zu is unknown",
                               head.modes[i], i);
    if (in.checksum()) return Status::ok;
    if (in.status() != Status::ok) return read_failed(in, failure);
    return set_failure(failure, Status::checksum, {}, "the tokens of the snapshot are damaged");
}

} // namespace

Status Session::save(uint32_t index, WriteFn write, void *user, Failure *failure) const {
    const Sequence &sequence = sequences_[index];
    SnapshotOutput out(write, user);
    out.bytes(kMagic, 8);
    out.u32(kVersion);
    out.u64(sequence.length);
    out.u64(sequence.held);
    for (uint64_t i = 0; i < sequence.length; i++) out.i32(sequence.ids[i]);
    out.bytes(sequence.modes, static_cast<size_t>(sequence.length));
    out.checksum();
    if (out.status() != Status::ok)
        return set_failure(failure, out.status(), {}, "the writer of a snapshot failed");
    return caches_.save(index, write, user, failure);
}

Status Session::load(uint32_t index, const Reader &reader, Failure *failure) try {
    SnapshotInput in({reader.read, reader.user, nullptr});
    const Host *const host = model_.host().get();
    Head head = {0, 0, Vector<int32_t>(HostAllocator<int32_t>(host)),
                 Vector<uint8_t>(HostAllocator<uint8_t>(host))};
    Status status = read_counts(in, head, n_context_, failure);
    if (status == Status::ok) head.ids.reserve(static_cast<size_t>(head.length));
    if (status == Status::ok) status = read_ids(in, head, model_.shape().n_vocab, failure);
    if (status == Status::ok) status = read_modes(in, head, failure);
    if (status == Status::ok) status = caches_.load(index, head.held, reader, failure);
    if (status != Status::ok) return status;
    Sequence &sequence = sequences_[index];
    for (size_t i = 0; i < head.ids.size(); i++) sequence.ids[i] = head.ids[i];
    for (size_t i = 0; i < head.modes.size(); i++) sequence.modes[i] = head.modes[i];
    sequence.length = head.length;
    sequence.held = head.held;
    n_changes_ += index == 0;
    if (index == 0) has_logits_ = false;
    return status;
} catch (const std::bad_alloc &) {
    return set_failure(failure, Status::memory, {}, "no memory to load a snapshot");
}

Status Session::save_path(uint32_t sequence, const char *path, Failure *failure) const {
    return save_snapshot(model_.host(), path, [&](WriteFn write, void *user) {
        return save(sequence, write, user, failure);
    });
}

Status Session::load_path(uint32_t sequence, const char *path, Failure *failure) {
    const auto from = [&](const Reader &reader, Failure *why) {
        return load(sequence, reader, why);
    };
    return load_snapshot(*model_.host(), path, from, failure);
}

} // namespace ggufx::model
