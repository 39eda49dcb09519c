// SPDX-License-Identifier: MIT
#include "base/patch_journal.hpp"

#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/output.hpp"
#include "base/patch.hpp"

namespace ggufx::io {

namespace {

constexpr char kMagic[8] = {'G', 'G', 'U', 'F', 'X', 'P', '0', '2'};
constexpr char kFirstMagic[8] = {'G', 'G', 'U', 'F', 'X', 'P', '0', '1'};
constexpr uint64_t kSum = 8, kHeader = 8 + 4 * kSum, kExtent = 2 * kSum;
constexpr uint64_t kFirstHeader = 8 + 3 * 8;
constexpr uint64_t kMaxBytes = uint64_t{1} << 32; // size of a journal; metadata have at most 1 GiB
constexpr size_t kPiece = size_t{64} << 10;       // per read, whole sectors

size_t piece_of(uint64_t left) {
    return left < kPiece ? static_cast<size_t>(left) : kPiece;
}

// Continues `crc` with a file's bytes begin .. end - 1.
uint64_t crc_of(uint64_t crc, const Named &file, uint64_t begin, uint64_t end, Buffer &buffer) {
    for (uint64_t at = begin; at < end;) {
        const size_t n = piece_of(end - at);
        file.read(at, buffer.data(), n);
        crc = crc64(crc, buffer.data(), n);
        at += n;
    }
    return crc;
}

// Returns whether `now` has new bytes up to some offset and old bytes from there on. Such a sector
// was not written, was written, or was cut by a partial write.
bool is_between(const uint8_t *now, const uint8_t *before, const uint8_t *after, size_t n) {
    size_t k = 0;
    while (k < n && now[k] == after[k]) k++;
    return memcmp(now + k, before + k, n - k) == 0;
}

class Replay {
public:
    Replay(const Ref<Host> &host, const Named &journal, const Named &file)
        : journal_(journal), file_(file), before_(host, kPiece), after_(host, kPiece),
          now_(host, kPiece), places_(HostAllocator<Place>(host.get())) {}

    uint64_t run() {
        if (!read_header()) return 0;
        read_places();
        check_rest();
        uint64_t n_left = 0;
        for (const Place &place : places_) n_left += visit(place, false);
        if (n_left == 0) return 0;
        for (const Place &place : places_) visit(place, true);
        file_.sync();
        return n_left;
    }

private:
    [[noreturn]] void refuse(const char *why) const {
        fail(Status::state, {},
             "\"%s\" is not the journal of an edit of this file: %s; nothing was changed (remove "
             "it if it is not needed)",
             journal_.shown().c_str(), why);
    }

    struct Place {
        uint64_t at, n; // range in the file
        uint64_t before() const { return bytes; }
        uint64_t after() const { return bytes + n; }
        uint64_t bytes; // offset in the journal
    };

    bool read_header();
    void match_first_version(uint64_t size);
    void read_places();
    void check_rest();
    uint64_t visit(const Place &place, bool write);
    uint64_t sectors_left(uint64_t at, size_t n) const;

    const Named &journal_, &file_;
    Buffer before_, after_, now_;
    Vector<Place> places_;
    uint64_t end_ = 0; // end of the checksummed bytes in the journal
    uint64_t n_head_ = 0, rest_ = 0, n_places_ = 0;
};

// Accepts a version 01 journal only if the file already has its bytes, so that it may be deleted.
// Such a journal does not tell which file it belongs to.
void Replay::match_first_version(uint64_t size) {
    uint8_t h[kFirstHeader];
    journal_.read(0, h, sizeof h);
    const uint64_t file_size = load_u64le(h + 8), first = load_u64le(h + 16),
                   n = load_u64le(h + 24);
    if (n != size - kFirstHeader || file_size != file_.size() || n > file_size ||
        first > file_size - n)
        refuse("its sizes differ");
    for (uint64_t at = 0; at < n;) {
        const size_t step = piece_of(n - at);
        journal_.read(kFirstHeader + at, after_.data(), step);
        file_.read(first + at, now_.data(), step);
        if (memcmp(now_.data(), after_.data(), step) != 0)
            refuse("an earlier version wrote it, without the identity of its file");
        at += step;
    }
}

// Returns false if nothing is left to do.
bool Replay::read_header() {
    uint8_t h[kHeader], sum[kSum];
    const uint64_t size = journal_.size();
    if (size < kFirstHeader) refuse("it is too short");
    journal_.read(0, h, 8);
    if (memcmp(h, kFirstMagic, sizeof kFirstMagic) == 0) {
        match_first_version(size);
        return false;
    }
    if (memcmp(h, kMagic, sizeof kMagic) != 0) refuse("it is not a journal");
    if (size < kHeader + kSum || size > kMaxBytes) refuse("it is damaged");
    end_ = size - kSum;
    journal_.read(0, h, sizeof h);
    journal_.read(end_, sum, sizeof sum);
    if (crc_of(0, journal_, 0, end_, now_) != load_u64le(sum)) refuse("it is damaged");
    if (load_u64le(h + 8) != file_.size()) refuse("the file has another size");
    n_head_ = load_u64le(h + 16);
    rest_ = load_u64le(h + 24);
    n_places_ = load_u64le(h + 32);
    if (n_head_ > file_.size()) refuse("it is damaged");
    return true;
}

void Replay::read_places() {
    uint64_t at = kHeader, free = 0; // at: in the journal; free: in the file, after the last place
    for (uint64_t i = 0; i < n_places_; i++) {
        uint8_t h[kExtent];
        if (end_ - at < sizeof h) refuse("it is damaged");
        journal_.read(at, h, sizeof h);
        at += sizeof h;
        const Place place = {load_u64le(h), load_u64le(h + 8), at};
        if (place.n == 0 || place.n > (end_ - at) / 2 || place.at < free || place.at > n_head_ ||
            place.n > n_head_ - place.at)
            refuse("it is damaged");
        at += 2 * place.n;
        free = place.at + place.n;
        places_.push_back(place);
    }
    if (at != end_) refuse("it is damaged");
}

void Replay::check_rest() {
    uint64_t crc = 0, at = 0;
    for (const Place &place : places_) {
        crc = crc_of(crc, file_, at, place.at, now_);
        at = place.at + place.n;
    }
    if (crc_of(crc, file_, at, n_head_, now_) != rest_)
        refuse("the file has other metadata than those that were edited");
}

// Returns how many sectors of n bytes at file offset `at` still have old bytes. Throws state if one
// is neither old nor new.
uint64_t Replay::sectors_left(uint64_t at, size_t n) const {
    uint64_t n_left = 0;
    for (size_t i = 0; i < n;) {
        const size_t to_end = kPatchSector - static_cast<size_t>((at + i) % kPatchSector);
        const size_t step = to_end < n - i ? to_end : n - i;
        if (!is_between(now_.data() + i, before_.data() + i, after_.data() + i, step))
            refuse("the file has bytes that are neither the old nor the new ones");
        n_left += memcmp(now_.data() + i, after_.data() + i, step) != 0;
        i += step;
    }
    return n_left;
}

// Counts the sectors of a place that are not new yet; with `write`, writes them.
uint64_t Replay::visit(const Place &place, bool write) {
    uint64_t n_left = 0;
    for (uint64_t at = 0; at < place.n;) {
        const uint64_t to_sector = kPatchSector - (place.at + at) % kPatchSector;
        const size_t n = piece_of(at == 0 && to_sector < place.n ? to_sector : place.n - at);
        journal_.read(place.before() + at, before_.data(), n);
        journal_.read(place.after() + at, after_.data(), n);
        file_.read(place.at + at, now_.data(), n);
        const uint64_t left = sectors_left(place.at + at, n);
        if (write && left) file_.write(place.at + at, after_.data(), n);
        n_left += left;
        at += n;
    }
    return n_left;
}

class JournalWriter {
public:
    explicit JournalWriter(OutputFile &out) : out_(out) {}
    void put(const void *data, uint64_t n) {
        crc_ = crc64(crc_, data, static_cast<size_t>(n));
        out_.write(data, static_cast<size_t>(n));
        n_bytes_ += n;
    }
    void put(uint64_t value) {
        uint8_t bytes[8];
        store_u64le(bytes, value);
        put(bytes, sizeof bytes);
    }
    void put_sum() { put(crc_); }
    uint64_t n_bytes() const { return n_bytes_; }

private:
    OutputFile &out_;
    uint64_t crc_ = 0, n_bytes_ = 0;
};

uint64_t crc_of_rest(const JournalPlan &plan) {
    uint64_t crc = 0, at = 0;
    for (const Extent &e : plan.extents) {
        crc = crc64(crc, plan.before + at, static_cast<size_t>(e.at - at));
        at = e.at + e.n;
    }
    return crc64(crc, plan.before + at, static_cast<size_t>(plan.n_head - at));
}

} // namespace

uint64_t write_journal(const Ref<Host> &host, const char *path, const JournalPlan &plan) {
    OutputFile out(host, std::string_view(path), kJournalOptions);
    out.open();
    JournalWriter journal(out);
    journal.put(kMagic, sizeof kMagic);
    journal.put(plan.file_size);
    journal.put(plan.n_head);
    journal.put(crc_of_rest(plan));
    journal.put(plan.extents.size());
    for (const Extent &e : plan.extents) {
        journal.put(e.at);
        journal.put(e.n);
        journal.put(plan.before + e.at, e.n);
        journal.put(plan.after + e.at, e.n);
    }
    journal.put_sum();
    out.sync();
    out.publish();
    out.sync_folder();
    return journal.n_bytes();
}

uint64_t replay_journal(const Ref<Host> &host, const Named &journal, const Named &file) {
    return Replay(host, journal, file).run();
}

} // namespace ggufx::io
