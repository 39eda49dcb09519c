// In-place edits; patch.hpp describes the order of writes.
// SPDX-License-Identifier: MIT
#include "base/patch.hpp"

#include "base/output.hpp"
#include "base/patch_journal.hpp"

namespace ggufx::io {

namespace {

constexpr std::string_view kJournalSuffix = ".patch";
constexpr unsigned kRead = FileHandle::kRead, kReadWrite = FileHandle::kRead | FileHandle::kWrite;

// Returns the sectors that differ; a single one is narrowed to its changed bytes.
Vector<Extent> changed_extents(const Ref<Host> &host, const uint8_t *now, const Patch &patch) {
    Vector<Extent> out{HostAllocator<Extent>(host.get())};
    for (size_t at = 0; at < patch.n_after; at += kPatchSector) {
        const size_t left = patch.n_after - at, n = left < kPatchSector ? left : kPatchSector;
        if (memcmp(now + at, patch.after + at, n) == 0) continue;
        if (!out.empty() && out.back().at + out.back().n == at)
            out.back().n += n;
        else
            out.push_back({at, n});
    }
    if (out.size() == 1 && out[0].n <= kPatchSector) {
        Extent &e = out[0];
        while (now[e.at] == patch.after[e.at]) e.at++, e.n--;
        while (now[e.at + e.n - 1] == patch.after[e.at + e.n - 1]) e.n--;
    }
    return out;
}

bool in_one_sector(const Vector<Extent> &extents) {
    return extents.size() == 1 && extents[0].n <= kPatchSector;
}

// Reads the first bytes of the file. Throws state if they are not those that the caller expects.
Buffer read_head(const Ref<Host> &host, const Named &file, const Patch &patch) {
    if (file.size() != patch.file_size)
        fail(Status::state, {}, "\"%s\" has another size than when it was opened",
             file.shown().c_str());
    Buffer head(host, patch.n_after);
    file.read(0, head.data(), head.size());
    if (memcmp(head.data(), patch.before, patch.n_before) != 0)
        fail(Status::state, {}, "\"%s\" was changed since it was opened", file.shown().c_str());
    return head;
}

uint64_t write_extents(const Named &file, const Vector<Extent> &extents, const uint8_t *head) {
    uint64_t n = 0;
    for (const Extent &e : extents) {
        file.write(e.at, head + e.at, static_cast<size_t>(e.n));
        n += e.n;
    }
    file.sync();
    return n;
}

// Writes the new bytes, or the old ones again if that fails. If both fail, recover_patch() finishes
// the edit from the journal.
uint64_t write_or_restore(const Named &file, const Vector<Extent> &extents, const uint8_t *before,
                          const uint8_t *after, Named *journal) {
    uint64_t n = 0;
    try {
        n = write_extents(file, extents, after);
    } catch (const Error &) {
        try {
            write_extents(file, extents, before);
            if (journal) journal->remove();
        } catch (const Error &) {} // the first error says more
        throw;
    }
    if (journal) journal->remove(); // a leftover journal replays nothing
    return n;
}

// Deletes the temporary file of a process that died while it wrote a journal.
void remove_unfinished(const Ref<Host> &host, const Named &journal) {
    const Named part(journal, ".part");
    FileHandle::Facts facts;
    if (look_at(part.path(), &facts) != 0 || facts.kind != FileHandle::Kind::regular) return;
    try { // the destructor deletes it
        OutputFile(host, std::string_view(journal.path()), kJournalOptions).open();
    } catch (const Error &) {} // the leftover is harmless
}

} // namespace

uint64_t patch_file(const Ref<Host> &host, const char *path, const Patch &patch) {
    Named file(host, path), journal(file, kJournalSuffix);
    file.must_open(kReadWrite);
    file.lock();
    if (journal.open(kRead))
        fail(Status::state, {}, "\"%s\" exists: an edit was interrupted; recover it first",
             journal.shown().c_str());
    const Buffer head = read_head(host, file, patch);
    const Vector<Extent> extents = changed_extents(host, head.data(), patch);
    if (extents.empty()) return 0;
    if (in_one_sector(extents))
        return write_or_restore(file, extents, head.data(), patch.after, nullptr);
    const uint64_t n_journal = write_journal(
        host, journal.path(), {patch.file_size, head.data(), patch.after, patch.n_after, extents});
    return n_journal + write_or_restore(file, extents, head.data(), patch.after, &journal);
}

bool recover_patch(const Ref<Host> &host, const char *path) {
    Named file(host, path), journal(file, kJournalSuffix);
    if (!journal.open(kRead)) {
        file.must_open(kRead);
        remove_unfinished(host, journal);
        return false;
    }
    file.must_open(kReadWrite);
    file.lock();
    if (!journal.open(kRead)) return false; // the previous lock holder has finished it
    const uint64_t n_left = replay_journal(host, journal, file);
    if (const int32_t error = journal.remove())
        fail(Status::io, {.system_error = error}, "cannot remove \"%s\": %s (%d)",
             journal.shown().c_str(), system_text(error), error);
    host->log(LogLevel::info,
              "\"%s\": an interrupted edit was finished: %llu sectors were still the old ones",
              file.shown().c_str(), static_cast<unsigned long long>(n_left));
    return true;
}

} // namespace ggufx::io
