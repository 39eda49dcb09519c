// A zip archive of stored files, written sequentially: sizes and checksums follow each file's data.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ggufx::cli {

class ZipWriter {
public:
    explicit ZipWriter(std::function<void(std::string_view)> write);
    void begin(const std::string &name); // UTF-8
    void write(std::string_view bytes);
    void end();
    void finish(); // the central directory

    // Bytes of an archive in addition to the files' data: per file, and at its end.
    static uint64_t bytes_around(const std::string &name) { return 148 + 2 * name.size(); }
    static constexpr uint64_t kEnd = 98;

private:
    struct Entry {
        std::string name;
        uint64_t offset = 0, n_bytes = 0;
        uint32_t crc = 0;
    };
    void put(std::string_view bytes);

    std::function<void(std::string_view)> write_;
    std::vector<Entry> entries_;
    uint64_t at_ = 0;
    std::vector<uint32_t> table_; // CRC table
};

} // namespace ggufx::cli
