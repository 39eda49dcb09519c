// Bytes of every quantizer for generated rows, and values of every dequantizer for generated
// blocks: a hash per type, set and weighting. The hashes are of the scalar code, which agreed with
// all stored bytes of ggml when they were taken.
// `golden print_encoded FOLDER` prints the table encoded.txt.
// SPDX-License-Identifier: MIT
#include "../checkasm/data.hpp"
#include "base/cpu.hpp"
#include "base/host.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/encode.hpp"
#include "made_rows.hpp"
#include "quant/quantize.hpp"

#include <inttypes.h>
#include <stdio.h>

namespace golden {

using namespace ggufx;

namespace {

// FNV-1a.
struct Hash {
    uint64_t value = 0xcbf29ce484222325u;
    void add(const Bytes &bytes) {
        for (const uint8_t byte : bytes) value = (value ^ byte) * 0x100000001b3u;
    }
};

uint64_t hash_encoded(Report &r, const Host &host, const kernels::Kernels &set,
                      const fmt::TypeInfo &type, const Rows &rows, bool weighted) {
    const size_t n_rows = rows.x.size() / rows.n_columns;
    Bytes out(n_rows * (rows.n_columns / type.block_values * type.block_bytes), 0xaa);
    Failure failure = {};
    const Status status = quant::quantize(
        {out.data(), out.size(), type.id}, host, set,
        {rows.x.data(), n_rows, rows.n_columns, weighted ? rows.imatrix.data() : nullptr, false},
        Progress(), &failure);
    r.check(status == Status::ok, "%s, %s: %s", type.name, rows.name, failure.message);
    Hash hash;
    hash.add(out);
    return hash.value;
}

// Hash of the values of random blocks with scales of every kind. All NaNs count as equal.
uint64_t hash_decoded(const fmt::TypeInfo &type) {
    constexpr size_t kBlocks = 96;
    testdata::Random random(300 + type.id);
    Hash hash;
    for (const testdata::Blocks kind : testdata::kAllBlocks) {
        Bytes blocks(kBlocks * type.block_bytes), bits;
        testdata::fill_blocks(blocks.data(), type.id, kBlocks, kind, random);
        std::vector<float> values(kBlocks * type.block_values);
        fmt::decode_row(values.data(), type, blocks.data(), values.size());
        for (const float v : values) {
            uint8_t bytes[4];
            store_u32le(bytes, v != v ? 0x7fc00000u : f32_bits(v));
            bits.insert(bits.end(), bytes, bytes + 4);
        }
        hash.add(bits);
    }
    return hash.value;
}

// Lines "type set weighting hash", in a fixed order; dequantizers have "type decode - hash".
std::string table_of(Report &r, const kernels::Kernels &set) {
    const Ref<Host> host = Host::create({nullptr, nullptr, nullptr, 2});
    const std::vector<Rows> sets = made_rows();
    std::string out;
    char line[80];
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        if (!type || type->kind != fmt::Kind::kQuantized) continue;
        snprintf(line, sizeof line, "%s decode - %016" PRIx64 "\n", type->name,
                 hash_decoded(*type));
        out += line;
        const kernels::Encode *encoder = quant::encoder(id);
        for (size_t i = 0; encoder && i < 2 * sets.size(); i++) {
            const Rows &rows = sets[i / 2];
            const bool weighted = i % 2 == 1;
            if (encoder->needs.imatrix && !weighted) continue;
            snprintf(line, sizeof line, "%s %s %s %016" PRIx64 "\n", type->name, rows.name,
                     weighted ? "im" : "noim", hash_encoded(r, *host, set, *type, rows, weighted));
            out += line;
        }
    }
    return out;
}

std::string next_line(const std::string &text, size_t *at) {
    const size_t end = text.find('\n', *at);
    const std::string line = text.substr(*at, end == std::string::npos ? end : end - *at);
    *at = end == std::string::npos ? text.size() : end + 1;
    return line;
}

} // namespace

int test_encoded_hashes(Report &r, const std::string &folder) {
    Bytes file;
    if (!r.check(read_file(&file, folder + "/encoded.txt"), "no encoded.txt")) return 1;
    std::string want;
    const std::string text(file.begin(), file.end());
    for (size_t at = 0; at < text.size();) {
        const std::string line = next_line(text, &at);
        if (!line.starts_with('#')) want += line + "\n";
    }
    const kernels::Kernels *sets[8];
    const size_t n_sets = kernels::list(sets, 8, cpu::features());
    size_t n_lines = 0;
    for (size_t i = 0; i < n_sets; i++) {
        const std::string got = table_of(r, *sets[i]);
        n_lines = 0;
        for (size_t at = 0, in_want = 0; at < got.size(); n_lines++) {
            const std::string line = next_line(got, &at);
            const std::string wanted = in_want < want.size() ? next_line(want, &in_want) : "";
            r.check(line == wanted, "%s: %s, not %s", kernels::name_of(*sets[i]), line.c_str(),
                    wanted.c_str());
        }
        r.check(got.size() == want.size(), "%s: other lines than encoded.txt",
                kernels::name_of(*sets[i]));
    }
    r.check(n_lines >= 200, "only %zu hashes", n_lines);
    r.note("%zu hashes in %zu instruction sets", n_lines, n_sets);
    return r.exit_code();
}

int test_print_encoded(Report &r, const std::string &) {
    printf("# Bytes of encoders for made-up rows, values of decoders for made-up blocks "
           "(encoded.cpp):\n"
           "# type, set, weighting, FNV-1a.\n%s",
           table_of(r, *kernels::select(1, 0)).c_str());
    return r.exit_code();
}

} // namespace golden
