// APPNOTE 6.3, always with ZIP64 records.
// SPDX-License-Identifier: MIT
#include "convert/zip_writer.hpp"

#include "common/little_endian.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

constexpr uint16_t kVersion = 45;      // ZIP64
constexpr uint16_t kFlags = 0x0808;    // sizes follow the data, names are UTF-8
constexpr uint32_t kDate = 0x00210000; // 1980-01-01 00:00: the same input gives the same bytes
constexpr uint32_t kIn64 = 0xffffffff; // the value is in the ZIP64 record

std::vector<uint32_t> crc_table() {
    std::vector<uint32_t> table(256);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
        table[i] = crc;
    }
    return table;
}

} // namespace

ZipWriter::ZipWriter(std::function<void(std::string_view)> write)
    : write_(std::move(write)), table_(crc_table()) {}

void ZipWriter::put(std::string_view bytes) {
    write_(bytes);
    at_ += bytes.size();
}

void ZipWriter::begin(const std::string &name) {
    entries_.push_back({name, at_});
    std::string head;
    put_number(head, 0x04034b50, 4);
    put_number(head, kVersion, 2);
    put_number(head, kFlags, 2);
    put_number(head, 0, 2); // stored
    put_number(head, kDate, 4);
    put_number(head, 0, 4);     // checksum and
    put_number(head, kIn64, 4); // sizes: after the data
    put_number(head, kIn64, 4);
    put_number(head, name.size(), 2);
    put_number(head, 20, 2);
    head += name;
    put_number(head, 1, 2); // ZIP64 record
    put_number(head, 16, 2);
    put_number(head, 0, 8);
    put_number(head, 0, 8);
    put(head);
}

void ZipWriter::write(std::string_view bytes) {
    Entry &entry = entries_.back();
    uint32_t crc = ~entry.crc;
    for (const char c : bytes) crc = table_[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
    entry.crc = ~crc;
    entry.n_bytes += bytes.size();
    put(bytes);
}

void ZipWriter::end() {
    const Entry &entry = entries_.back();
    std::string tail;
    put_number(tail, 0x08074b50, 4);
    put_number(tail, entry.crc, 4);
    put_number(tail, entry.n_bytes, 8);
    put_number(tail, entry.n_bytes, 8);
    put(tail);
}

void ZipWriter::finish() {
    const uint64_t begin = at_;
    for (const Entry &entry : entries_) {
        std::string head;
        put_number(head, 0x02014b50, 4);
        put_number(head, kVersion, 2);
        put_number(head, kVersion, 2);
        put_number(head, kFlags, 2);
        put_number(head, 0, 2);
        put_number(head, kDate, 4);
        put_number(head, entry.crc, 4);
        put_number(head, kIn64, 4);
        put_number(head, kIn64, 4);
        put_number(head, entry.name.size(), 2);
        put_number(head, 28, 2);
        put_number(head, 0, 2 + 2 + 2 + 4); // comment, disk, attributes
        put_number(head, kIn64, 4);
        head += entry.name;
        put_number(head, 1, 2);
        put_number(head, 24, 2);
        put_number(head, entry.n_bytes, 8);
        put_number(head, entry.n_bytes, 8);
        put_number(head, entry.offset, 8);
        put(head);
    }
    const uint64_t n = entries_.size(), size = at_ - begin, end = at_;
    std::string tail;
    put_number(tail, 0x06064b50, 4); // ZIP64 end of central directory
    put_number(tail, 44, 8);
    put_number(tail, kVersion, 2);
    put_number(tail, kVersion, 2);
    put_number(tail, 0, 8); // disks
    put_number(tail, n, 8);
    put_number(tail, n, 8);
    put_number(tail, size, 8);
    put_number(tail, begin, 8);
    put_number(tail, 0x07064b50, 4); // its locator
    put_number(tail, 0, 4);
    put_number(tail, end, 8);
    put_number(tail, 1, 4);
    put_number(tail, 0x06054b50, 4); // end of central directory
    put_number(tail, 0, 4);
    put_number(tail, 0xffff, 2);
    put_number(tail, 0xffff, 2);
    put_number(tail, kIn64, 4);
    put_number(tail, kIn64, 4);
    put_number(tail, 0, 2);
    put(tail);
}

} // namespace ggufx::cli
