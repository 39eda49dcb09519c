// The canonical bits: a hash per type and kind of product of generated blocks and activations, the
// same for every kernel set on every host. canonical.txt changes only with a CHANGELOG line
// `bits:`; `golden print_canonical FOLDER` prints it from the scalar kernels.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include "../checkasm/data.hpp"
#include "../checkasm/product.hpp"
#include "base/cpu.hpp"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

namespace golden {

using namespace ggufx;
using testdata::Blocks;
using testdata::Mode;
using testdata::Product;
using testdata::Values;

namespace {

struct Kind {
    const char *name;
    size_t n;
    Mode mode;
};
constexpr Kind kKinds[] = {
    {"n1", 1, Mode::int8},    {"n3", 3, Mode::int8},    {"n4", 4, Mode::int8},
    {"f32n1", 1, Mode::f32},  {"f32n3", 3, Mode::f32},  {"f32n4", 4, Mode::f32},
    {"p1", 1, Mode::precise}, {"p3", 3, Mode::precise}, {"p4", 4, Mode::precise}};

constexpr size_t kRows = 7;

// FNV-1a over the little-endian bytes of the results.
uint64_t hash_of(const std::vector<float> &y) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const float v : y) {
        for (unsigned i = 0; i < 4; i++) {
            h = (h ^ ((f32_bits(v) >> (8 * i)) & 255u)) * 0x100000001b3u;
        }
    }
    return h;
}

// Five data sets in one hash: tame, bounds and special blocks and values. 41 blocks of 32 (or 10.25
// of 128): two and a half rounds of the 16 lanes, and a tail for float types.
uint64_t hash_product(const kernels::Kernels &kernels, const fmt::TypeInfo &type,
                      const Kind &kind) {
    constexpr struct {
        Blocks blocks;
        Values values;
    } kSets[] = {{Blocks::tame, Values::plain},
                 {Blocks::tame, Values::bounds},
                 {Blocks::bounds, Values::bounds},
                 {Blocks::special, Values::plain},
                 {Blocks::tame, Values::special}};
    std::vector<float> results;
    testdata::Random random(1000 + type.id);
    for (const auto &set : kSets) {
        const size_t k = type.block_values == 1 ? 1317 : size_t{1280};
        const size_t stride = k / type.block_values * type.block_bytes;
        Bytes w(stride * kRows);
        testdata::fill_blocks(w.data(), type.id, w.size() / type.block_bytes, set.blocks, random);
        std::vector<float> x(k * kind.n), y(kRows * kind.n);
        testdata::fill_values(x.data(), x.size(), set.values, random);
        const Product p = {type.id, {w.data(), stride, kRows, k}, x.data(), k, kind.n, kind.mode};
        testdata::multiply({y.data(), kRows}, kernels, p);
        results.insert(results.end(), y.begin(), y.end());
    }
    return hash_of(results);
}

bool next_line(const std::string &text, size_t *at, char *type, char *kind, uint64_t *hash) {
    while (*at < text.size()) {
        const char *line = text.c_str() + *at;
        const size_t end = text.find('\n', *at);
        *at = end == std::string::npos ? text.size() : end + 1;
        if (*line != '#' && sscanf(line, "%15s %15s %16" SCNx64, type, kind, hash) == 3)
            return true;
    }
    return false;
}

void check_line(Report &r, const char *type_name, const char *kind_name, uint64_t want) {
    const fmt::TypeInfo *type = fmt::type_by_name(type_name, strlen(type_name));
    const kernels::Kernels *list[8];
    const size_t n_kernels = kernels::list(list, 8, cpu::features());
    for (const Kind &kind : kKinds) {
        if (strcmp(kind.name, kind_name) != 0 || !type) continue;
        for (size_t i = 0; i < n_kernels; i++) {
            const uint64_t got = hash_product(*list[i], *type, kind);
            r.check(got == want, "%s %s %s: hash %016" PRIx64 ", expected %016" PRIx64,
                    list[i]->name, type_name, kind_name, got, want);
        }
        return;
    }
    r.check(false, "odd line %s %s", type_name, kind_name);
}

} // namespace

int test_canonical_hashes(Report &r, const std::string &folder) {
    Bytes file;
    if (!r.check(read_file(&file, folder + "/canonical.txt"), "no canonical.txt")) return 1;
    const std::string text(file.begin(), file.end());
    size_t n_lines = 0, n_products = 0, at = 0;
    char type[16], kind[16];
    uint64_t hash;
    for (; next_line(text, &at, type, kind, &hash); n_lines++) check_line(r, type, kind, hash);
    const kernels::Kernels &scalar = *kernels::select(1, 0);
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        for (const Kind &k : kKinds) n_products += testdata::has_product(scalar, id, k.n, k.mode);
    }
    r.check(n_lines == n_products, "%zu lines, the table has %zu products", n_lines, n_products);
    r.note("%zu hashes", n_lines);
    return r.exit_code();
}

int test_print_canonical(Report &, const std::string &) {
    printf("# Canonical results: type, kind of product, FNV-1a of its bits (canonical.cpp).\n"
           "# Changes only together with a CHANGELOG line `bits:`.\n");
    const kernels::Kernels &scalar = *kernels::select(1, 0);
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        for (const Kind &kind : kKinds) {
            if (!testdata::has_product(scalar, id, kind.n, kind.mode)) continue;
            const fmt::TypeInfo &type = *fmt::type_info(id);
            printf("%s %s %016" PRIx64 "\n", type.name, kind.name,
                   hash_product(scalar, type, kind));
        }
    }
    return 0;
}

} // namespace golden
