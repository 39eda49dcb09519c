// Files and callbacks that take what a writer writes.
// SPDX-License-Identifier: MIT
#include "base/output.hpp"
#include "gguf/writer.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx::gguf {

namespace {

class FileSink final : public Sink {
public:
    FileSink(const Ref<Host> &host, const WritePlan &plan, std::string_view path)
        : host_(host), plan_(plan), path_(path),
          files_(HostAllocator<io::OutputFile *>(host.get())),
          name_(HostAllocator<char>(host.get())) {
        files_.reserve(plan.parts().size());
    }
    ~FileSink() override {
        for (io::OutputFile *file : files_) unmake(*host_, file);
    }

    void begin(size_t part) override {
        files_.push_back(make<io::OutputFile>(*host_, host_, part_path(part)));
        files_.back()->open();
    }
    void write(const uint8_t *data, size_t n) override { files_.back()->write(data, n); }
    void end() override { files_.back()->sync(); }

    // The first part last: who finds it finds the others.
    void commit() override {
        size_t i = files_.size();
        try {
            for (; i > 0; i--) files_[i - 1]->publish();
        } catch (...) {
            for (; i < files_.size(); i++) files_[i]->retract();
            throw;
        }
        files_[0]->sync_folder();
    }

private:
    std::string_view part_path(size_t part) {
        if (!plan_.splits()) return path_;
        constexpr std::string_view kSuffix = ".gguf";
        char tail[40];
        snprintf(tail, sizeof tail, "-%05u-of-%05u.gguf", static_cast<unsigned>(part + 1),
                 static_cast<unsigned>(plan_.parts().size()));
        std::string_view prefix = path_;
        if (prefix.ends_with(kSuffix)) prefix.remove_suffix(kSuffix.size());
        name_.assign(prefix.begin(), prefix.end());
        name_.insert(name_.end(), tail, tail + strlen(tail));
        return {name_.data(), name_.size()};
    }

    const Ref<Host> &host_;
    const WritePlan &plan_;
    std::string_view path_;
    Vector<io::OutputFile *> files_;
    Vector<char> name_;
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

void write_path(const Writer &writer, const WritePlan &plan, const char *path,
                const Progress &progress) {
    FileSink sink(writer.host(), plan, path);
    emit(writer, plan, sink, progress);
}

void write_hook(const Writer &writer, const WritePlan &plan, const WriteHook &hook,
                const Progress &progress) {
    HookSink sink(hook);
    emit(writer, plan, sink, progress);
}

} // namespace ggufx::gguf
