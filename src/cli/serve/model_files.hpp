// Files of a served model: whether the weights are still those of the load. Writing into a mapped
// file changes the weights under the server; a renamed replacement does not.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/mapping_guard.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace ggufx::cli {

class ModelFiles {
public:
    // Notes the identity, and samples of the content of a file that was written just now, before the
    // files are opened. Paths of parts of a split set stand for the whole set. Other things than
    // regular files are left out.
    explicit ModelFiles(const std::vector<std::string> &paths);
    ~ModelFiles();
    ModelFiles(const ModelFiles &) = delete;
    ModelFiles &operator=(const ModelFiles &) = delete;

    // Call after the load, which read the files: reads of samples would leave small pages of others
    // in the page cache. Notes samples of the content. Throws Failure if a file changed meanwhile.
    // is_mapped: the weights stay in the files; otherwise later changes have no effect.
    void loaded(bool is_mapped);

    uint64_t n_bytes() const; // all files

    // The calls below are for any thread. A change is reported on stderr once, and stays.
    enum class State { same, replaced, changed };
    // Compares size, times and inode, and the samples if only times differ.
    State state();
    bool is_changed() { return is_mapped_ && state() == State::changed; }
    // Like state() != changed, but looks at most once a second, and then at some samples, too.
    bool is_intact(double now);

    static constexpr const char *kChanged = "the file of the model was changed: restart the server";

private:
    struct File {
        std::string path;
        int fd = -1;
        uint64_t device = 0, node = 0, n_bytes = 0;
        int64_t times[4] = {};        // last changes of content and inode: s, ns
        std::vector<uint64_t> hashes; // one per sample
    };
    void open(const std::string &path);
    bool is_same(File &file);
    bool note_samples(File &file);
    bool is_untouched(const File &file) const;
    bool hash_sample(const File &file, uint64_t i, uint64_t &out);
    bool has_same_samples(const File &file, size_t first, size_t n);
    bool has_next_samples();
    void report(const char *why);

    std::mutex mutex_;
    std::vector<File> files_;
    std::vector<uint64_t> words_; // one sample
    MappingGuard guard_;
    bool is_mapped_ = true;
    std::atomic<bool> is_changed_ = false;
    std::atomic<double> next_look_ = 0;
    size_t next_file_ = 0, next_sample_ = 0;
};

} // namespace ggufx::cli
