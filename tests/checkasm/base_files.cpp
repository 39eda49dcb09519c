// File functions of src/base on any system: reads return the written bytes, file names, locks, end
// of file.
// SPDX-License-Identifier: MIT
#include "base/crc64.hpp"
#include "base/file_handle.hpp"
#include "base/io.hpp"
#include "base/output.hpp"
#include "base/patch.hpp"
#include "base/resumable_file.hpp"
#include "check.hpp"
#include "scratch.hpp"

#include <string.h>

using namespace ggufx;
using namespace ggufx::io;

namespace {

using Handle = FileHandle;
constexpr unsigned kNew = Handle::kRead | Handle::kWrite | Handle::kCreate;

// A name with characters of two, three and four bytes (surrogates in UTF-16).
constexpr const char8_t *kName = u8"\u00fc\u4e2d\U0001f600.bin";

void bytes_stand_where_they_were_written(const Scratch &scratch) {
    const std::string path = scratch.path(kName), data = bytes_of(100000, 1);
    Handle file;
    size_t done = 0;
    CHECK(is_absent(file.open(path.c_str(), Handle::kRead)) && !file.is_open());
    CHECK(file.open(path.c_str(), kNew) == 0);
    CHECK(file.write(7, data.data(), data.size(), &done) == 0 && done == data.size());
    CHECK(content(path) == std::string(7, 0) + data);
    std::string back(data.size(), 'x');
    CHECK(file.read(7, back.data(), back.size(), &done) == 0 && done == back.size());
    CHECK(back == data);
    CHECK(file.read(100000, back.data(), 50, &done) == 0 && done == 7); // end of file
    CHECK(file.read(200000, back.data(), 50, &done) == 0 && done == 0);
    Handle::Facts facts;
    CHECK(file.look(&facts) == 0 && facts.kind == Handle::Kind::regular && facts.size == 100007);
    CHECK(file.resize(10) == 0 && file.sync() == 0);
    CHECK(content(path) == std::string(7, 0) + data.substr(0, 3));
    CHECK(file.open(path.c_str(), kNew | Handle::kEmpty) == 0);
    CHECK(content(path).empty());
    file.close();
    CHECK(remove_file(path.c_str()) == 0 && is_absent(remove_file(path.c_str())));
}

void some_bytes_at_a_time(const Scratch &scratch) {
    const std::string path = scratch.path(u8"some"), data = bytes_of(1000, 2);
    put(path, data);
    Handle file;
    CHECK(file.open(path.c_str(), Handle::kRead) == 0);
    std::string all;
    char piece[64];
    size_t done = 1;
    while (done) {
        CHECK(file.read_some(piece, sizeof piece, &done) == 0);
        all.append(piece, done);
    }
    CHECK(all == data);
}

void appended_bytes_follow_each_other(const Scratch &scratch) {
    const std::string path = scratch.path(u8"log");
    Handle a, b;
    CHECK(a.open(path.c_str(), kNew | Handle::kAppend) == 0);
    CHECK(b.open(path.c_str(), kNew | Handle::kAppend) == 0);
    CHECK(a.append("one,", 4) == 0 && b.append("two,", 4) == 0 && a.append("three", 5) == 0);
    CHECK(content(path) == "one,two,three");
    CHECK(a.resize(4) == 0 && b.append("2", 1) == 0);
    CHECK(content(path) == "one,2");
}

void locks_are_of_handles(const Scratch &scratch) {
    const std::string path = scratch.path(u8"lock");
    Handle a, b, c;
    for (Handle *h : {&a, &b, &c}) CHECK(h->open(path.c_str(), kNew) == 0);
    CHECK(a.lock(true) && b.lock(true) && !c.lock(false));
    a.close();
    CHECK(!c.lock(false));
    b.close();
    CHECK(c.lock(false) && a.open(path.c_str(), kNew) == 0 && !a.lock(true));
    size_t done = 0; // a lock does not prevent reads or writes
    char back = 0;
    CHECK(a.write(0, "x", 1, &done) == 0 && c.read(0, &back, 1, &done) == 0 && back == 'x');
}

void names_go_from_file_to_file(const Scratch &scratch) {
    const std::string a = scratch.path(u8"a"), b = scratch.path(u8"b");
    put(a, "old");
    put(b, "new");
    Handle file;
    CHECK(file.open(a.c_str(), Handle::kRead) == 0 && file.is_at(a.c_str()));
    CHECK(!file.is_at(b.c_str()) && !file.is_at(scratch.path(u8"none").c_str()));
    file.close();
    CHECK(file.open(b.c_str(), kNew) == 0); // as in an atomic replace
    CHECK(replace_file(b.c_str(), a.c_str()) == 0);
    CHECK(content(a) == "new" && content(b) == "(absent)");
#if !defined(_WIN32) // wine 8 reports volume 0 for a renamed open file
    CHECK(file.is_at(a.c_str()));
#endif
    file.close();
    std::string folder = scratch.path(u8""), kept = a;
    Handle::Facts facts;
    CHECK(look_at(folder.c_str(), &facts) == 0 && facts.kind == Handle::Kind::folder);
    sync_folder_of(kept.data());
    CHECK(kept == a);
}

void an_output_appears_whole(const Scratch &scratch) {
    const auto host = Host::create({});
    const std::string path = scratch.path(kName), data = bytes_of(70000, 3);
    put(path, "old");
    const size_t before = scratch.n_files();
    for (const bool publish : {false, true}) {
        OutputFile out(host, path), other(host, path);
        out.open();
        const Failure f = failure_of([&] { other.open(); });
        CHECK(has_status(f, Status::state) && strstr(f.message, "is being written"));
        out.write(data.data(), 60000);
        out.write(data.data() + 60000, 10000);
        out.sync();
        CHECK(content(path) == "old");
        if (publish) out.publish();
        out.sync_folder();
    }
    CHECK(content(path) == data && scratch.n_files() == before);
    OutputFile out(host, path);
    out.open();
    out.publish();
    out.retract();
    CHECK(content(path) == "(absent)");
}

void a_draft_goes_on(const Scratch &scratch) {
    const auto host = Host::create({});
    const std::string path = scratch.path(u8"draft"), data = bytes_of(5000, 4);
    using Mode = ResumableFile::Mode;
    CHECK(has_status(failure_of([&] { ResumableFile(host, path).open(Mode::finish, 5000); }),
                     Status::not_found));
    {
        ResumableFile first(host, path), second(host, path);
        first.open(Mode::join, 5000);
        second.open(Mode::join, 5000);
        first.write_at(0, data.data(), 2000);
        second.write_at(2000, data.data() + 2000, 3000);
        first.append_log("abc", 3);
        second.append_log("def", 3);
        CHECK(has_status(failure_of([&] { ResumableFile(host, path).open(Mode::resume, 5000); }),
                         Status::state));
    }
    CHECK(has_status(failure_of([&] { ResumableFile(host, path).open(Mode::resume, 4999); }),
                     Status::mismatch));
    ResumableFile draft(host, path);
    draft.open(Mode::finish, 5000);
    std::string back(5000, 0);
    char log[8] = "";
    draft.read_at(0, back.data(), back.size());
    CHECK(back == data && draft.read_log(1, log, 8) == 5 && memcmp(log, "bcdef", 5) == 0);
    draft.cut_log(2);
    CHECK(draft.read_log(0, log, 8) == 2);
    CHECK(has_status(failure_of([&] { draft.read_at(4999, back.data(), 2); }), Status::io));
    draft.sync();
    draft.publish();
    CHECK(content(path) == data && content(path + ".part.log") == "(absent)");
    draft.retract();
    CHECK(content(path) == "(absent)");
}

void a_patch_is_written(const Scratch &scratch) {
    const auto host = Host::create({});
    const std::string path = scratch.path(u8"patch"), tail = bytes_of(3000, 7);
    const std::string before = bytes_of(2000, 5), after = bytes_of(2000, 6);
    put(path, before + tail);
    const auto u8 = [](const std::string &s) {
        return reinterpret_cast<const uint8_t *>(s.data());
    };
    CHECK(patch_file(host, path.c_str(), {u8(before), 2000, u8(after), 2000, 5000}) > 4000 - 8);
    CHECK(content(path) == after + tail && content(path + ".patch") == "(absent)");
    CHECK(has_status(failure_of([&] {
                         patch_file(host, path.c_str(), {u8(before), 2000, u8(after), 2000, 5000});
                     }),
                     Status::state));
    CHECK(!recover_patch(host, path.c_str()));
}

// Builds a journal: numbers, then the bytes, as in patch_journal.hpp.
std::string journal_of(const char *magic, std::initializer_list<uint64_t> numbers,
                       const std::string &bytes) {
    std::string out = magic;
    for (const uint64_t v : numbers)
        for (int i = 0; i < 8; i++) out += static_cast<char>(v >> 8 * i);
    return out + bytes;
}

std::string summed(const std::string &journal) {
    return journal + journal_of("", {crc64(0, journal.data(), journal.size())}, "");
}

void a_journal_is_of_one_file(const Scratch &scratch) {
    const auto host = Host::create({});
    const std::string path = scratch.path(u8"journal"), before = bytes_of(5000, 5);
    std::string after = before;
    after.replace(1000, 2000, bytes_of(2000, 6));
    const auto crc_of_rest = [](std::string head) {
        head.erase(1000, 2000);
        return crc64(0, head.data(), head.size());
    };
    const auto journal = [&](uint64_t size, uint64_t first, uint64_t n, uint64_t head) {
        return journal_of("GGUFXP02",
                          {size, head, crc_of_rest(before.substr(0, 4000)), 1, first, n},
                          before.substr(1000, 2000) + after.substr(1000, 2000));
    };
    const std::string good = summed(journal(5000, 1000, 2000, 4000));
    const auto outcome = [&](const std::string &file, const std::string &beside) {
        put(path, file);
        put(path + ".patch", beside);
        const Failure f = failure_of([&] { CHECK(recover_patch(host, path.c_str())); });
        if (f.status == 0) return content(path) == after && content(path + ".patch") == "(absent)";
        CHECK(has_status(f, Status::state) && strstr(f.message, "nothing was changed"));
        CHECK(content(path) == file && content(path + ".patch") == beside);
        return false;
    };
    CHECK(outcome(before, good) && outcome(after, good));
    for (const size_t cut : {1024u, 1500u, 2048u, 2999u}) // sectors may reach the disk in any order
        CHECK(outcome(before.substr(0, cut) + after.substr(cut), good) == (cut % 512 == 0));
    for (size_t cut = 1000; cut < 3000; cut += 77)
        CHECK(outcome(after.substr(0, cut) + before.substr(cut), good));
    for (const size_t at : {0u, 999u, 1000u, 2999u, 3000u, 3999u}) { // a byte of another file
        std::string other = before;
        other[at] = static_cast<char>(other[at] ^ 0x10);
        CHECK(!outcome(other, good));
    }
    std::string tail = before;
    tail[4500] ^= 1; // after the header: tensor data, which no edit reads
    put(path, tail);
    put(path + ".patch", good);
    CHECK(recover_patch(host, path.c_str()));
    CHECK(!outcome(before + "x", good) && !outcome(before.substr(1), good));
    for (size_t at = 0; at < good.size(); at += 61) {
        std::string damaged = good;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        CHECK(!outcome(before, damaged) && !outcome(before, good.substr(0, at)));
    }
    const uint64_t huge = ~uint64_t{0} - 100;
    for (const auto &numbers : {journal(5000, 1000, huge, 4000), journal(5000, huge, 2000, 4000),
                                journal(5000, 1000, 2000, huge), journal(5000, 1000, 2000, 2999)})
        CHECK(!outcome(before, summed(numbers)));
    // Several pieces, which must be in order and not overlap.
    const auto pieces = [&](uint64_t second, uint64_t n_pieces) {
        std::string head = before.substr(0, 4000);
        head.erase(2500, 500).erase(1000, 500);
        std::string two = journal_of(
            "GGUFXP02", {5000, 4000, crc64(0, head.data(), head.size()), n_pieces, 1000, 500},
            before.substr(1000, 500) + after.substr(1000, 500));
        return summed(two + journal_of("", {second, 500},
                                       before.substr(2500, 500) + after.substr(2500, 500)));
    };
    std::string half = before, both = before;
    both.replace(1000, 500, after, 1000, 500).replace(2500, 500, after, 2500, 500);
    after.swap(both);
    CHECK(outcome(before, pieces(2500, 2)) && outcome(after, pieces(2500, 2)));
    CHECK(outcome(half.replace(2500, 500, after, 2500, 500), pieces(2500, 2)));
    CHECK(!outcome(before, pieces(1499, 2)) && !outcome(before, pieces(3501, 2)));
    CHECK(!outcome(before, pieces(2500, 1)) && !outcome(before, pieces(2500, 3)));
    after.swap(both);
    // The first journal format does not identify its file, so recovery only accepts a file that
    // already has the new bytes.
    const std::string first = journal_of("GGUFXP01", {5000, 1000, 2000}, after.substr(1000, 2000));
    CHECK(outcome(after, first) && !outcome(before, first) &&
          !outcome(before, first.substr(0, 40)));
    remove_file((path + ".patch").c_str());
}

void a_source_reads_and_maps(const Scratch &scratch) {
    const auto host = Host::create({});
    const std::string path = scratch.path(kName), data = bytes_of(200000, 8);
    put(path, data);
    const Ref<Source> source = open_path(host, path.c_str());
    CHECK(source->size() == data.size());
    std::string back(1000, 0);
    source->read(150000, back.data(), back.size());
    CHECK(back == data.substr(150000, 1000));
    int32_t error = 0;
    const uint8_t *mapped = source->map(data.size(), &error);
    CHECK(mapped && memcmp(mapped, data.data(), data.size()) == 0);
    source->finish(); // the mapping stays valid
    if (!mapped) return;
    populate(mapped, data.size());
    advise_huge(mapped, data.size());
    release_pages(mapped, data.size());
    CHECK(mapped[199999] == static_cast<uint8_t>(data[199999]));
    source->unmap(mapped, data.size());

    Handle part; // a mapping that does not begin at a page boundary
    CHECK(part.open(path.c_str(), Handle::kRead) == 0);
    const uint8_t *inside = map_file(part, 70001, 100000, &error);
    CHECK(inside && memcmp(inside, data.data() + 70001, 100000) == 0);
    if (inside) unmap_file(inside, 100000);
    CHECK(!map_file(part, 0, 0, &error) && error == SystemError::too_large);
}

void what_is_no_file_is_refused(const Scratch &scratch) {
    const auto host = Host::create({});
    const auto open = [&](const std::string &path) {
        return failure_of([&] { open_path(host, path.c_str()); });
    };
    Failure f = open(scratch.path(u8"none"));
    CHECK(has_status(f, Status::not_found) && is_absent(f.system_error));
    CHECK(strstr(f.message, "none: cannot open: no such file or directory ("));
    f = open(scratch.path(u8"none/below"));
    CHECK(has_status(f, Status::not_found));
    f = open(scratch.path(u8""));
    CHECK(has_status(f, Status::io) && strstr(f.message, "is a directory"));
    f = failure_of([&] {
        OutputFile out(host, scratch.path(u8"none/below"));
        out.open();
    });
    CHECK(has_status(f, Status::io) && strstr(f.message, "cannot create a file beside"));
    const std::string path = scratch.path(u8"short");
    put(path, bytes_of(3000, 9));
    const Ref<Source> source = open_path(host, path.c_str());
    put(path, bytes_of(1000, 9));
    char back[600];
    f = failure_of([&] { source->read(700, back, sizeof back); });
    CHECK(has_status(f, Status::truncated) && f.offset == 1000);
    CHECK(strcmp(system_text(SystemError::exists), "something else has this name") == 0);
    CHECK(strcmp(system_text(1 << 20), "system error") == 0);
}

} // namespace

int main() {
    const Scratch scratch("files");
    bytes_stand_where_they_were_written(scratch);
    some_bytes_at_a_time(scratch);
    appended_bytes_follow_each_other(scratch);
    locks_are_of_handles(scratch);
    names_go_from_file_to_file(scratch);
    an_output_appears_whole(scratch);
    a_draft_goes_on(scratch);
    a_patch_is_written(scratch);
    a_journal_is_of_one_file(scratch);
    a_source_reads_and_maps(scratch);
    what_is_no_file_is_refused(scratch);
    printf("%d failures\n", failures);
    return failures != 0;
}
