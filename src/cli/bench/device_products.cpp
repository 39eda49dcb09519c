// SPDX-License-Identifier: MIT
#include "bench/device_products.hpp"

#include "bench/blocks.hpp"
#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Bytes that are used in turn: more than the last-level cache of any GPU. Less for a device on the
// CPU, which reads 0.2 GB/s.
constexpr uint64_t kThere = uint64_t{2} << 30, kThereOfProcessor = uint64_t{32} << 20;

struct DeviceFigures {
    std::string type;
    uint64_t n = 0, m = 0;
    double gbps = 0, read_gbps = 0, upload_gbps = 0, copy_gbps = 0;
    bool bits_equal = true;
};

// A device that was opened for the first time, which loads its driver, and again next to the first.
// The second time shows the library's own work, including its self-test.
struct OpenedTwice {
    Device device;
    double first_ms = 0, again_ms = 0;
};

OpenedTwice open_often(const ggufx_runtime *rt, const ProductOptions &options) {
    OpenedTwice opened;
    opened.first_ms = 1e3 * seconds_of([&] { opened.device = open_device(rt, options.device); });
    std::vector<double> again;
    for (unsigned round = 0; round < options.rounds; round++) {
        check_interrupt();
        Device other = nullptr;
        again.push_back(seconds_of([&] { other = open_device(rt, options.device); }));
    }
    opened.again_ms = 1e3 * median(again);
    return opened;
}

// Matrices of one type, uploaded as often as fills the memory that is used in turn.
class DeviceBench {
public:
    DeviceBench(const ProductOptions &options, const ggufx_runtime *rt, const ggufx_device *device,
                const Weights &weights)
        : options_(options), rt_(rt), device_(device), weights_(weights) {
        const ggufx_device_facts facts = device_facts(device);
        const bool processor = facts.flags & GGUFX_DEVICE_SOFTWARE;
        const uint64_t free = facts.free_bytes ? facts.free_bytes : facts.memory_bytes;
        const uint64_t bytes = std::min(processor ? kThereOfProcessor : kThere, free / 2);
        const uint64_t n = std::max<uint64_t>(bytes / matrix_bytes(), 1);
        for (uint64_t i = 0; i < n; i++) {
            check_interrupt();
            there_.push_back(upload(matrix(i)));
        }
        measure_uploads();
    }

    DeviceFigures measure(uint64_t n, Progress &progress) {
        std::vector<double> products, reads;
        y_.resize(static_cast<size_t>(weights_.m * n));
        (void)multiply(there_[0].get(), n); // compiles kernels
        (void)read(there_[0].get());
        for (unsigned round = 0; round < options_.rounds; round++) {
            check_interrupt();
            progress.update(round, options_.rounds);
            const ggufx_tensor *matrix = there_[round % there_.size()].get();
            products.push_back(multiply(matrix, n));
            reads.push_back(read(there_[(round + there_.size() / 2) % there_.size()].get()));
        }
        const auto gbps = [&](const std::vector<double> &seconds) {
            return static_cast<double>(matrix_bytes()) / median(seconds) / 1e9;
        };
        return {weights_.type.name, n,
                weights_.m,         gbps(products),
                gbps(reads),        gbps(uploads_),
                gbps(copies_),      bits_equal(n)};
    }

private:
    uint64_t matrix_bytes() const { return weights_.m * weights_.row_bytes; }

    // Returns a matrix of the host buffer, which has fewer than a GPU, so matrices may repeat.
    Tensor matrix(uint64_t i) const {
        const uint8_t *data = weights_.data + i % weights_.n_matrices * matrix_bytes();
        return wrap_matrix(rt_, weights_.type.id, options_.k, weights_.m, 0, data, matrix_bytes());
    }

    Tensor upload(const Tensor &here) const {
        ggufx_tensor *there = nullptr;
        call([&](ggufx_error *error) {
            return ggufx_tensor_upload(&there, device_, here.get(), nullptr, error);
        });
        return Tensor(there);
    }

    // Measures uploads, which allocate device memory, and copies into allocated host memory, with
    // other bytes each time.
    void measure_uploads() {
        const auto size = static_cast<size_t>(matrix_bytes());
        std::vector<uint8_t> to(size, 1);
        for (unsigned round = 0; round <= options_.rounds; round++) {
            check_interrupt();
            const Tensor here = matrix(round);
            Tensor there = nullptr;
            const double upload_time = seconds_of([&] { there = upload(here); });
            const uint8_t *data = weights_.data + round % weights_.n_matrices * size;
            const double copy_time = seconds_of([&] { std::memcpy(to.data(), data, size); });
            if (round == 0) continue; // first touch of the memory
            uploads_.push_back(upload_time);
            copies_.push_back(copy_time);
        }
    }

    double multiply(const ggufx_tensor *matrix, uint64_t n) {
        auto matmul = sized<ggufx_matmul_options>();
        matmul.flags = options_.flags();
        const ggufx_product product =
            product_of(matrix, std::span(weights_.x).first(static_cast<size_t>(options_.k * n)),
                       static_cast<size_t>(n), y_);
        return seconds_of([&] {
            call(
                [&](ggufx_error *error) { return ggufx_matmul(rt_, &product, 1, &matmul, error); });
        });
    }

    double read(const ggufx_tensor *matrix) {
        uint32_t sum = 0;
        return seconds_of([&] {
            call([&](ggufx_error *error) { return ggufx_tensor_checksum(&sum, matrix, error); });
        });
    }

    bool bits_equal(uint64_t n) {
        const Tensor here = wrap_matrix(rt_, weights_.type.id, options_.k, weights_.m, 0,
                                        weights_.data, matrix_bytes());
        (void)multiply(there_[0].get(), n);
        const std::vector<float> got = y_;
        (void)multiply(here.get(), n);
        return std::memcmp(got.data(), y_.data(), got.size() * sizeof(float)) == 0;
    }

    const ProductOptions &options_;
    const ggufx_runtime *rt_;
    const ggufx_device *device_;
    const Weights &weights_;
    std::vector<Tensor> there_;
    std::vector<double> uploads_, copies_; // seconds per matrix
    std::vector<float> y_;
};

Json json_of(const DeviceFigures &f, const ProductOptions &options, const OpenedTwice &opened,
             const ggufx_device_facts &device) {
    Json line = json_object();
    line.update(Json{{"bench", options.verb},
                     {"type", f.type},
                     {"device", device.id},
                     {"name", device.name},
                     {"processor", (device.flags & GGUFX_DEVICE_SOFTWARE) != 0},
                     {"fma", fma_name(device)},
                     {"first_open_ms", opened.first_ms},
                     {"open_ms", opened.again_ms},
                     {"n", f.n},
                     {"m", f.m},
                     {"k", options.k},
                     {"gbps", f.gbps},
                     {"read_gbps", f.read_gbps},
                     {"ratio", f.gbps / f.read_gbps},
                     {"upload_gbps", f.upload_gbps},
                     {"memcpy_gbps", f.copy_gbps},
                     {"upload_ratio", f.upload_gbps / f.copy_gbps},
                     {"bits_equal", f.bits_equal}});
    return line;
}

void add_row(Table &table, const DeviceFigures &f, const OpenedTwice &opened,
             const ggufx_device_facts &device) {
    table.row({f.type, device.id, fmt::format("{}", f.n), fmt::format("{:.2f}", f.gbps),
               fmt::format("{:.2f}", f.read_gbps), fmt::format("{:.2f}", f.gbps / f.read_gbps),
               fmt::format("{:.2f}", f.upload_gbps), fmt::format("{:.2f}", f.copy_gbps),
               fmt::format("{:.2f}", f.upload_gbps / f.copy_gbps),
               fmt::format("{:.1f}", opened.again_ms), f.bits_equal ? "yes" : "NO"});
}

} // namespace

int bench_device_products(const Globals &globals, const ProductOptions &options) {
    const Runtime rt = make_runtime(globals);
    const OpenedTwice opened = open_often(rt.get(), options);
    const ggufx_device *device = opened.device.get();
    const ggufx_device_facts facts = device_facts(device);
    Output out(globals);
    Table table({"type", "device", ">n", ">GB/s", ">read", ">of read", ">upload", ">memcpy",
                 ">of memcpy", ">open ms", "bits equal"});
    table.essential({"type", "GB/s", "bits equal"});
    table.dispensable({"open ms", "memcpy", "of memcpy", "upload", "read"});
    ColdBuffer buffer(kColdBytes);
    bool all_equal = true;
    for (const std::string &type : types_with(GGUFX_TYPE_HAS_MATVEC, options.types)) {
        const Weights weights = make_weights(rt.get(), type, options, buffer);
        DeviceBench bench(options, rt.get(), device, weights);
        Progress progress(globals, "bench " + type);
        for (const uint64_t n : options.n) {
            const DeviceFigures figures = bench.measure(n, progress);
            all_equal = all_equal && figures.bits_equal;
            if (globals.json)
                print_json_line(out, json_of(figures, options, opened, facts));
            else
                add_row(table, figures, opened, facts);
        }
    }
    return finish_products(globals, out, table, options.markdown, all_equal);
}

} // namespace ggufx::cli
