// SPDX-License-Identifier: MIT
#include "rank_files.hpp"

extern "C" {
#include "temporary.h"
}

#include <stdio.h>
#include <stdlib.h>

static void must_do(ggufx_status status, const ggufx_error &error) {
    if (status == GGUFX_OK) return;
    fprintf(stderr, "files of ranks: %s\n", error.message);
    exit(1);
}

RankFiles::RankFiles(const std::string &path, const std::string &name, uint32_t n,
                     const uint32_t *speeds, uint32_t flags) {
    ggufx_error error = {};
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    must_do(ggufx_runtime_create(&rt, nullptr, &error), error);
    must_do(ggufx_open(&file, rt, path.c_str(), nullptr, &error), error);
    for (uint32_t rank = 0; rank < n; rank++) {
        char out[TEMPORARY_PATH];
        temporary_path(out, (name + "-" + std::to_string(rank) + ".gguf").c_str());
        ggufx_writer *writer = nullptr;
        must_do(ggufx_writer_create(&writer, rt, nullptr, &error), error);
        must_do(ggufx_writer_copy_shard(writer, file, rank, n, speeds, flags, &error), error);
        must_do(ggufx_writer_write(writer, out, nullptr, &error), error);
        ggufx_writer_destroy(writer);
        paths_.emplace_back(out);
    }
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

RankFiles::~RankFiles() {
    for (const std::string &path : paths_) remove(path.c_str());
}
