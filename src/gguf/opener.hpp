// State of one open call: sources -> parts -> tensor data -> File. open.cpp: parts and merging;
// load.cpp: tensor data; split.cpp: split sets.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/open.hpp"
#include "gguf/reader.hpp"
#include "gguf/sort.hpp"

namespace ggufx::gguf {

class Opener {
public:
    Opener(const Ref<Host> &host, const OpenOptions &options);

    Ref<File> open_path(const char *path);
    Ref<File> open_source(const Ref<io::Source> &source);

private:
    // open.cpp
    void place_part(size_t slot, const Ref<io::Source> &source);
    void read_part(Part &part, io::Source &source) const; // parses and checks
    static void place_data(Part &part);                   // computes the data offset
    void finish();
    void merge();
    void index_names();
    [[noreturn]] void fail_same(NamePair same) const;

    // blame.cpp
    void blame(Error &e, const Reader &reader, const Part &part, io::Source &source) const;
    bool is_whole(io::Source &source, const Doubt &doubt) const;

    // load.cpp
    void load_all();
    uint64_t bytes_to_load(const Part &part) const;
    void load(Part &part, io::Source &source);
    void load_mapped(Part &part);
    void load_read(Part &part, io::Source &source, uint64_t n);
    void swap_tensors(Part &part);
    void lock_pages(Part &part, uint64_t n);
    void step(uint64_t n); // progress; throws cancelled

    // split.cpp
    uint64_t split_value(const Part &part, const char *key, bool *present) const;
    void check_split(const Part &part, uint64_t number, uint64_t count, const char *name) const;
    void check_total() const;
    void check_ids() const;
    void warn_if_part() const;
    bool has_split_key(const Part &part) const;

    const Ref<Host> &host_;
    const OpenOptions &options_;
    Ref<File> file_;
    Vector<Ref<io::Source>> sources_;
    uint64_t done_ = 0, total_ = 0;
};

} // namespace ggufx::gguf
