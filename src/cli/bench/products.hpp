// Weights and runners of the product benchmarks. A runner is one instruction set with one number of
// threads and one number of columns.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/bench.hpp"
#include "bench/blocks.hpp"
#include "common/device.hpp"
#include "common/table.hpp"

namespace ggufx::cli {

struct ProductOptions {
    const char *verb = "matvec";
    std::vector<std::string> types = {"q4_K"};
    std::vector<uint64_t> n = {1};
    uint64_t m = 4096;
    uint64_t k = 4096;
    unsigned rounds = 9;
    std::string cache = "memory";
    Clock clock = Clock::wall;
    bool f32 = false;
    bool precise = false;
    bool rows = false;
    bool markdown = false;
    DeviceChoice device;

    uint32_t flags() const {
        const uint32_t way = rows ? GGUFX_MATMUL_BATCH_INVARIANT : 0;
        return way | (f32 ? GGUFX_MATMUL_F32 : precise ? GGUFX_MATMUL_INT16 : 0);
    }
};

// Weights of one type: as many matrices of m rows as the buffer holds.
struct Weights {
    ggufx_type_facts type = {};
    uint64_t row_bytes = 0;
    uint64_t m = 0;
    const uint8_t *data = nullptr;
    size_t n_matrices = 0;
    std::vector<float> x; // columns for the largest n

    bool is_float() const { return (type.flags & GGUFX_TYPE_IS_FLOAT) != 0; }
};

// Fills the buffer with weights.
Weights make_weights(const ggufx_runtime *rt, const std::string &type,
                     const ProductOptions &options, ColdBuffer &buffer);

class Runner {
public:
    Runner(Runtime rt, uint64_t n);

    const ggufx_runtime *runtime() const { return rt_.get(); }
    int32_t isa() const { return isa_; }
    const std::string &isa_name() const { return isa_name_; }
    unsigned threads() const { return threads_; }
    uint64_t n() const { return n_; }
    uint64_t m() const { return m_; } // rows per call: fewer if a call would take too long
    bool bits_equal() const { return bits_equal_; }
    double seconds_per_row() const; // median

    // Takes other weights; discards earlier measurements.
    void prepare(const Weights &weights, const ProductOptions &options);
    // Compares a few rows with the scalar kernels.
    void compare(const Weights &weights, const ggufx_runtime *scalar,
                 const ProductOptions &options);
    // Multiplies by the next matrices for about `seconds`.
    void run(double seconds, const ProductOptions &options);

private:
    double multiply(const ggufx_tensor *matrix, const ProductOptions &options);

    Runtime rt_;
    int32_t isa_;
    std::string isa_name_;
    unsigned threads_;
    uint64_t n_, m_ = 0;
    std::vector<Tensor> matrices_;
    const std::vector<float> *x_ = nullptr;
    std::vector<float> y_;
    size_t next_ = 0;
    bool bits_equal_ = true;
    std::vector<double> seconds_; // per row
};

void add_clock(Command &sub, Clock &clock);

// Returns a runner per instruction set (--isa: names, or all), number of threads and n.
std::vector<Runner> make_runners(const Globals &globals, const std::vector<uint64_t> &n);

// Returns the requested types; "all" = all types with a GGUFX_TYPE_* flag.
std::vector<std::string> types_with(uint32_t flag, const std::vector<std::string> &names);

// Ends a benchmark: prints its table, unless JSON was printed. Returns the exit code.
int finish_products(const Globals &globals, Output &out, const Table &table, bool markdown,
                    bool all_equal);

} // namespace ggufx::cli
