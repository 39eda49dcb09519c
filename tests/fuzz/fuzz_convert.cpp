// Fuzz target: readers of other formats, from memory: safetensors headers, SentencePiece protobuf,
// tokenizer.json. With libFuzzer, omit main (-DGGUFX_FUZZER). Otherwise the seeds
// below are truncated and mutated by a fixed sequence.
// SPDX-License-Identifier: MIT
#include "convert/safetensors.hpp"
#include "convert/vocabulary.hpp"
#include "replay.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ggufx::cli;

// Parses; every failure has a message.
template <class Parse> static void attempt(Parse &&parse) {
    try {
        parse();
    } catch (const Failure &failure) {
        if (!*failure.what() || failure.exit_code < kInvalidFile) abort();
    }
}

static void check(const Vocabulary &vocabulary) {
    const size_t n = vocabulary.tokens.size();
    if (vocabulary.kinds.size() != n) abort();
    if (vocabulary.model == "llama" && vocabulary.scores.size() != n) abort();
    if (vocabulary.bos && *vocabulary.bos >= n) abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string copy(reinterpret_cast<const char *>(data), size); // exactly sized
    attempt([&] {
        const uint64_t n_data = 64;
        for (const auto &[name, tensor] : parse_st_header(copy, n_data, "header").tensors) {
            if (tensor.offset > n_data || tensor.n_bytes > n_data - tensor.offset) abort();
        }
    });
    attempt([&] { check(parse_spm(copy, "model")); });
    attempt([&] { check(parse_tokenizer_json(copy, "json")); });
    return 0;
}

#ifndef GGUFX_FUZZER
static std::string seed(size_t which) {
    Vocabulary v;
    v.model = "llama";
    v.tokens = {"<unk>", "<s>", "</s>", "<0x41>", "ab"};
    v.kinds = {kUnknown, kControl, kControl, kByte, kNormal};
    v.scores = {0, 0, 0, 0, -1};
    v.bos = 1;
    if (which == 0) return spm_bytes(v);
    if (which == 1) {
        v.model = v.pre = "gpt2";
        v.merges = {"a b"};
        return tokenizer_json(v).dump();
    }
    return "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2,4],"
           "\"data_offsets\":[0,32]},\"b\":{\"dtype\":\"BF16\",\"shape\":[16],\"data_offsets\":"
           "[32,64]}}";
}

int main(int argc, char **argv) {
    uint32_t state = 7;
    const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    long n_run = replay_archives(&argc, &argv);
    const long count =
        argc > 1 ? std::strtol(argv[1], nullptr, 10) : replay_count(4000); // for each seed
    for (size_t which = 0; which < 3; ++which) {
        const std::string good = seed(which);
        for (long i = 0; i < count; ++i, ++n_run) {
            std::string bytes = good;
            for (uint32_t k = next() % 4; k > 0; --k) {
                bytes[next() % bytes.size()] = static_cast<char>(next());
            }
            if (next() % 4 == 0) bytes.resize(next() % (bytes.size() + 1));
            if (next() % 8 == 0) bytes.insert(next() % (bytes.size() + 1), bytes);
            replay_input(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
        }
    }
    std::printf("%ld inputs\n", n_run);
    return 0;
}
#endif
