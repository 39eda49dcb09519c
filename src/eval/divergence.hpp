// Compares a model's predictions with saved ones, token by token: KL divergence and others.
// SPDX-License-Identifier: MIT
#pragma once

#include "eval/saved_logits.hpp"

namespace ggufx::model {

struct Estimated {
    double value = 0.0, error = 0.0;
};

struct DivergenceResult {
    Estimated base_perplexity, log_ratio, mean, median, p99, same_top, rms_dp;
    double largest = 0.0;
};

struct ComparedRow {
    double loss, base_loss; // for the actual next token
    double divergence;
    bool same_top;
};

// Sums over predictions in token order; finite ones.
class DivergenceSums {
public:
    // Reserves memory for n rows. Throws std::bad_alloc.
    DivergenceSums(const Host *host, size_t n);
    void add(const ComparedRow &row); // needs CanonicalFp
    DivergenceResult running() const; // without quantiles
    DivergenceResult result();        // at the end

private:
    // A mean and its standard error.
    struct Mean {
        double sum = 0.0, squares = 0.0;
        void add(double x) {
            sum += x;
            squares += x * x;
        }
        Estimated of(double n) const;
    };

    Vector<float> all_;                        // KL divergences, for the quantiles
    Mean base_, difference_, divergence_, dp_; // dp_ has the squares
    uint64_t n_same_ = 0;
    double largest_ = 0.0;
};

class Divergence final : public ScoredRows {
public:
    // first_chunk: index of the saved chunk that the text begins with. Throws std::bad_alloc.
    Divergence(const Session &session, const Chunks &text, uint64_t first_chunk,
               const Reader &reader);
    Status begin(const Progress &progress, Failure *failure) {
        return saved_.begin(progress, failure);
    }
    Status begin_chunk(const int32_t *tokens, Failure *failure) override {
        return saved_.begin_chunk(tokens, failure);
    }
    Status rows(const float *logits, size_t n, const int32_t *next, const double *losses,
                Failure *failure) override;
    Status end_chunk(Failure *failure) override { return saved_.end_chunk(failure); }
    Status end() { return saved_.end(); }

    bool same_model() const { return saved_.same_model(); }
    DivergenceResult running() const { return sums_.running(); }
    DivergenceResult result() { return sums_.result(); }
    const ComparedRow *last_rows() const { return rows_; } // rows of the last rows() call

private:
    const Model &model_;
    LogitsReader saved_;
    Vector<uint16_t> codes_; // [kScoredGroup][n_vocab]
    DivergenceSums sums_;
    ComparedRow rows_[kScoredGroup];
};

} // namespace ggufx::model
