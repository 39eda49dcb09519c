// Products of rows in the memory of a device. The engine checks a call, decides which definition of
// docs/reproducibility/products.md each product follows, and passes it to the device.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/product.hpp"

namespace ggufx::matmul {

// Rows of one matrix times n columns; the members of Tiles have their usual meaning, except that
// w.data is unused.
struct RemoteProduct {
    uint32_t type;
    RemoteRows rows; // from the first row of `columns.w` on
    Tiles columns;
    bool dots; // row-wise (n = 1..3, sections 3, 5, 6) per column; else blocked (n >= 4)
};

class Remote {
public:
    // Multiplies the whole list and adds to call.done. Neither allocates nor throws; sets *failure
    // on error.
    virtual Status multiply(Call &call, const RemoteProduct *list, size_t n_list,
                            Failure *failure) = 0;

protected:
    ~Remote() = default;
};

// Collects products of one device and submits them together.
class RemoteList {
public:
    explicit RemoteList(Call &call) : call_(call) {}
    Status add(const RemoteProduct &product, Failure *failure) {
        Status status = Status::ok;
        if (n_list_ == kListed || (n_list_ > 0 && list_[0].rows.home != product.rows.home)) {
            status = end(failure);
        }
        list_[n_list_++] = product;
        return status;
    }
    Status end(Failure *failure) {
        const size_t n_list = n_list_;
        n_list_ = 0;
        if (n_list == 0) return Status::ok;
        return list_[0].rows.home->multiply(call_, list_, n_list, failure);
    }

private:
    Call &call_;
    size_t n_list_ = 0;
    RemoteProduct list_[kListed];
};

// Returns the rows from row `first` on.
inline RemoteRows slice(const RemoteRows &rows, uint64_t first) {
    return {rows.home, rows.rows, rows.at + first * rows.stride, rows.stride};
}

} // namespace ggufx::matmul
