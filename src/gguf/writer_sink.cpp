// Sinks of the writer: files and callbacks.
// SPDX-License-Identifier: MIT
#include "base/file_set.hpp"
#include "base/output.hpp"
#include "gguf/split_name.hpp"
#include "gguf/writer.hpp"

#include <string.h>

namespace ggufx::gguf {

namespace {

class FileSink final : public Sink {
public:
    FileSink(const Ref<Host> &host, const WritePlan &plan, std::string_view path, bool keep_old)
        : host_(host), plan_(plan), path_(path), keep_old_(keep_old),
          files_(HostAllocator<io::OutputFile *>(host.get())), set_(host) {
        const size_t n = plan.parts().size();
        files_.reserve(n);
        for (size_t i = 0; i < n && n > 1; i++) {
            const Vector<char> name = part_path(i);
            set_.add({name.data(), name.size()});
        }
    }
    ~FileSink() override {
        for (io::OutputFile *file : files_) unmake(*host_, file);
    }

    void begin(size_t part) override {
        const Vector<char> name = part_path(part);
        io::PartOptions options;
        options.keep_old = keep_old_ && (part > 0 || set_.size() == 0);
        options.own_name = plan_.splits();
        files_.push_back(make<io::OutputFile>(*host_, host_,
                                              std::string_view(name.data(), name.size()), options));
        files_.back()->open(part == 0 ? plan_.n_bytes() : 0);
        if (part > 0 || set_.size() == 0) return;
        set_.recover();
        if (keep_old_) set_.require_free();
    }
    void write(const uint8_t *data, size_t n) override { files_.back()->write(data, n); }
    void end() override { files_.back()->sync(); }

    void commit() override {
        if (set_.size() == 0)
            files_[0]->publish();
        else
            publish_set();
        files_[0]->sync_folder();
        if (set_.size() > 0) set_.forget();
    }

private:
    // Renames the first part last: a reader that finds it finds the others.
    void publish_set() {
        set_.set_aside();
        try {
            for (size_t i = files_.size(); i > 0; i--) files_[i - 1]->publish();
        } catch (...) {
            set_.put_back();
            throw;
        }
    }

    Vector<char> part_path(size_t part) const {
        if (plan_.splits()) return split_part_name(host_, path_, part, plan_.parts().size());
        return Vector<char>(path_.begin(), path_.end(), HostAllocator<char>(host_.get()));
    }

    const Ref<Host> &host_;
    const WritePlan &plan_;
    std::string_view path_;
    bool keep_old_;
    Vector<io::OutputFile *> files_;
    io::FileSet set_; // used if the output has several files
};

class HookSink final : public Sink {
public:
    explicit HookSink(const WriteHook &hook) : hook_(hook) {}
    void begin(size_t part) override {
        part_ = static_cast<uint32_t>(part);
        n_written_ = 0;
    }
    void write(const uint8_t *data, size_t n) override {
        const int32_t status = hook_.write(hook_.user, part_, data, n);
        if (status != 0)
            fail(Status::io, {.offset = n_written_},
                 "the write callback failed with status %d for %zu bytes at offset %llu of part %u",
                 status, n, static_cast<unsigned long long>(n_written_), part_);
        n_written_ += n;
    }
    void end() override {}
    void commit() override {}

private:
    WriteHook hook_;
    uint32_t part_ = 0;
    uint64_t n_written_ = 0;
};

} // namespace

void write_path(const Writer &writer, const WritePlan &plan, const char *path, bool keep_old,
                const Progress &progress) {
    FileSink sink(writer.host(), plan, path, keep_old);
    emit(writer, plan, sink, progress);
}

void write_hook(const Writer &writer, const WritePlan &plan, const WriteHook &hook,
                const Progress &progress) {
    HookSink sink(hook);
    emit(writer, plan, sink, progress);
}

bool recover_set(const Ref<Host> &host, const char *path) {
    const size_t n = strlen(path);
    uint32_t number = 0, count = 0;
    if (!parse_split_name(path, n, &number, &count) || count < 2) return false;
    io::FileSet set(host);
    for (uint32_t i = 0; i < count; i++) {
        const Vector<char> name = split_part_name(host, {path, n - kSplitTail}, i, count);
        set.add({name.data(), name.size()});
        if (i == 1 && !set.was_interrupted()) return false;
    }
    const Vector<char> first = split_part_name(host, {path, n - kSplitTail}, 0, count);
    io::OutputFile lock(host, {first.data(), first.size()}, {.own_name = true});
    lock.open();
    set.recover();
    return true;
}

} // namespace ggufx::gguf
