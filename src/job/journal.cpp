// SPDX-License-Identifier: MIT
#include "job/journal.hpp"

#include "base/bytes.hpp"

namespace ggufx::job {

void Checksum::add_u64(uint64_t v) {
    uint8_t bytes[8];
    store_u64le(bytes, v);
    add(bytes, sizeof bytes);
}

namespace {

constexpr uint32_t kBegin = 0x4c474758u, kDone = 0x4e474758u;
constexpr size_t kRecord = 24; // kind, tensor, value, CRC-64 of these

uint64_t check_of(const uint8_t *record) {
    return crc64(0, record, 16);
}

void put_record(io::ResumableFile &draft, uint32_t kind, uint32_t tensor, uint64_t value) {
    uint8_t record[kRecord];
    store_u32le(record, kind);
    store_u32le(record + 4, tensor);
    store_u64le(record + 8, value);
    store_u64le(record + 16, check_of(record));
    draft.append_log(record, sizeof record);
}

} // namespace

Journal::Journal(const Ref<Host> &host, io::ResumableFile &draft, size_t n_tensors)
    : draft_(draft), state_(n_tensors, State{}, HostAllocator<State>(host.get())) {}

void Journal::open(uint64_t fingerprint, bool alone) {
    uint64_t at = 0;
    bool begun = false;
    for (uint8_t r[kRecord]; draft_.read_log(at, r, sizeof r) == sizeof r; at += sizeof r) {
        if (load_u64le(r + 16) != check_of(r)) break;
        const uint32_t kind = load_u32le(r), tensor = load_u32le(r + 4);
        const uint64_t value = load_u64le(r + 8);
        if (kind == kBegin && value != fingerprint)
            fail(Status::mismatch, {},
                 "the unfinished output was begun with other input or options (it has %llu bytes, "
                 "this job writes %llu)",
                 static_cast<unsigned long long>(draft_.n_begun()),
                 static_cast<unsigned long long>(draft_.n_bytes()));
        begun = begun || kind == kBegin;
        if (kind == kDone && tensor < state_.size()) state_[tensor] = {true, value};
    }
    if (alone) draft_.cut_log(at);
    if (!begun) {
        for (State &state : state_) state = {};
        put_record(draft_, kBegin, 0, fingerprint);
    }
}

void Journal::note(size_t tensor, uint64_t checksum) {
    state_[tensor] = {true, checksum};
    put_record(draft_, kDone, static_cast<uint32_t>(tensor), checksum);
}

} // namespace ggufx::job
