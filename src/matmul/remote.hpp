// Rows that lie in the memory of a device, which multiplies them: the engine checks a call, decides
// which definition of docs/reproducibility/products.md each product has, and hands it over.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/product.hpp"

namespace ggufx::matmul {

// Rows of one matrix times n columns: those of Tiles, whose meaning x, ldx, y, ldy, order and n_used
// have; w.data means nothing.
struct RemoteProduct {
    uint32_t type;
    RemoteRows rows; // from the first of `columns.w` on
    Tiles columns;
    bool dots; // n = 1..3 (sections 3, 5, 6), each column by itself; else n >= 4
};

class Remote {
public:
    // All of the list; adds to call.done. Neither allocates nor throws; fills *failure.
    virtual Status multiply(Call &call, const RemoteProduct *list, size_t n_list,
                            Failure *failure) = 0;

protected:
    ~Remote() = default;
};

// Collects products of one device, which go there together.
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

// From row `first` on.
inline RemoteRows slice(const RemoteRows &rows, uint64_t first) {
    return {rows.home, rows.rows, rows.at + first * rows.stride, rows.stride};
}

} // namespace ggufx::matmul
