// What a model's predictions differ in from saved ones, prediction by prediction.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/measures/saved_logits.hpp"

namespace ggufx::model {

struct Estimated {
    double value = 0.0, error = 0.0;
};

struct DivergenceResult {
    Estimated base_perplexity, log_ratio, mean, median, p99, same_top, rms_dp;
    double largest = 0.0;
};

struct ComparedRow {
    double loss, base_loss; // of the token that came
    double divergence;
    bool same_top;
};

// Of predictions in the order of the text; finite ones.
class DivergenceSums {
public:
    // Throws std::bad_alloc. Room for n rows.
    DivergenceSums(const Host *host, size_t n);
    void add(const ComparedRow &row); // needs CanonicalFp
    DivergenceResult running() const; // without quantiles
    DivergenceResult result();        // at the end

private:
    // A mean and its error.
    struct Mean {
        double sum = 0.0, squares = 0.0;
        void add(double x) {
            sum += x;
            squares += x * x;
        }
        Estimated of(double n) const;
    };

    Vector<float> all_;                        // divergences, for the quantiles
    Mean base_, difference_, divergence_, dp_; // dp_: of the squares
    uint64_t n_same_ = 0;
    double largest_ = 0.0;
};

class Divergence final : public ScoredRows {
public:
    // first_chunk: of those that were saved the one that the text begins with. Throws std::bad_alloc.
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
    const ComparedRow *last_rows() const { return rows_; } // that rows() was given

private:
    const Model &model_;
    LogitsReader saved_;
    Vector<uint16_t> codes_; // [kScoredGroup][n_vocab]
    DivergenceSums sums_;
    ComparedRow rows_[kScoredGroup];
};

} // namespace ggufx::model
