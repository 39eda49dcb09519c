// Perplexity, KL divergence and continuations: include/ggufx/eval.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "base/snapshot_file.hpp"
#include "eval/choices.hpp"
#include "eval/divergence.hpp"

#include <ggufx/eval.h>
#include <math.h>
#include <optional>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

// Passes each scored row to the host's callback, after the row's figures are computed.
class RowReporter final : public model::ScoredRows {
public:
    RowReporter(const ggufx_eval_options &in, const model::Divergence *divergence)
        : in_(in), divergence_(divergence) {}
    Status rows(const float *, size_t n, const int32_t *next, const double *losses,
                Failure *failure) override {
        ggufx_eval_row rows[model::kScoredGroup] = {};
        const model::ComparedRow *compared = divergence_ ? divergence_->last_rows() : nullptr;
        for (size_t i = 0; i < n; i++) {
            rows[i].loss = losses[i];
            rows[i].token = next[i];
            if (!compared) continue;
            rows[i].reference_loss = compared[i].base_loss;
            rows[i].kl_divergence = compared[i].divergence;
            rows[i].flags = compared[i].same_top ? GGUFX_EVAL_SAME_TOP : 0;
        }
        const int32_t result = in_.rows(in_.rows_user, rows, n);
        if (result == 0) return Status::ok;
        return set_failure(failure, ended_by_host(result), {},
                           "the rows callback ended the measurement");
    }
    Status begin_chunk(const int32_t *, Failure *) override { return Status::ok; }
    Status end_chunk(Failure *) override { return Status::ok; }

private:
    const ggufx_eval_options &in_;
    const model::Divergence *divergence_;
};

void put(double &value, double &error, const model::Estimated &from) {
    value = from.value;
    error = from.error;
}

ggufx_eval_facts measure_facts_of(const model::PerplexityResult &result) {
    ggufx_eval_facts facts = {};
    facts.struct_size = sizeof facts;
    facts.perplexity = result.perplexity;
    facts.standard_error = result.standard_error;
    facts.n_chunks = result.n_chunks;
    facts.n_tokens = result.n_tokens;
    facts.n_scored = result.n_scored;
    return facts;
}

void put_divergence(ggufx_eval_facts &facts, const model::DivergenceResult &from, bool same_model) {
    facts.flags = GGUFX_EVAL_COMPARED | (same_model ? GGUFX_EVAL_SAME_MODEL : 0);
    put(facts.reference_perplexity, facts.reference_error, from.base_perplexity);
    put(facts.log_ratio, facts.log_ratio_error, from.log_ratio);
    put(facts.kl, facts.kl_error, from.mean);
    put(facts.kl_median, facts.kl_median_error, from.median);
    put(facts.kl_99, facts.kl_99_error, from.p99);
    facts.kl_max = from.largest;
    put(facts.same_top_token, facts.same_top_token_error, from.same_top);
    put(facts.rms_delta_p, facts.rms_delta_p_error, from.rms_dp);
}

// One measurement run with its input and output files.
class Measure {
public:
    Measure(ggufx_session &session, const model::Chunks &text, const ggufx_eval_options &in)
        : session_(session.session), text_(text), in_(in) {}

    ggufx_eval_facts facts; // set by a successful run
    Status run(Failure *failure);

private:
    Status save(WriteFn write, void *user, Failure *failure);
    Status compare(const Reader &reader, Failure *failure);
    Status measure(Failure *failure);
    Status with_base(Failure *failure);
    static int32_t report(void *self, const model::PerplexityResult &running);

    model::Session &session_;
    const model::Chunks &text_;
    const ggufx_eval_options &in_;
    std::optional<model::LogitsWriter> writer_;
    std::optional<model::Divergence> divergence_;
};

int32_t Measure::report(void *self, const model::PerplexityResult &running) {
    const auto *measure = static_cast<const Measure *>(self);
    ggufx_eval_facts facts = measure_facts_of(running);
    if (measure->divergence_)
        put_divergence(facts, measure->divergence_->running(), measure->divergence_->same_model());
    return measure->in_.report(measure->in_.report_user, &facts);
}

Status Measure::measure(Failure *failure) {
    model::ScoredRows *watchers[3];
    size_t n = 0;
    RowReporter reporter(in_, divergence_ ? &*divergence_ : nullptr);
    if (writer_) watchers[n++] = &*writer_;
    if (divergence_) watchers[n++] = &*divergence_;
    if (in_.rows) watchers[n++] = &reporter;
    const model::PerplexityTask task{text_,    this, in_.report ? report : nullptr,
                                     watchers, n,    import_progress(in_.progress)};
    model::PerplexityResult result{};
    Status status = model::perplexity(&result, session_, task, failure);
    if (status == Status::ok && divergence_) status = divergence_->end();
    if (status != Status::ok) return status;
    facts = measure_facts_of(result);
    if (divergence_) put_divergence(facts, divergence_->result(), divergence_->same_model());
    return status;
}

Status Measure::compare(const Reader &reader, Failure *failure) {
    divergence_.emplace(session_, text_, in_.reference_chunk, reader);
    const Status status = divergence_->begin(import_progress(in_.progress), failure);
    return status == Status::ok ? measure(failure) : status;
}

Status Measure::with_base(Failure *failure) {
    if (in_.read) return compare({in_.read, in_.read_user}, failure);
    if (!in_.reference_path) return measure(failure);
    return load_snapshot(
        *session_.model().host(), in_.reference_path,
        [&](const Reader &reader, Failure *why) { return compare(reader, why); }, failure);
}

Status Measure::save(WriteFn write, void *user, Failure *failure) {
    writer_.emplace(session_, text_, write, user);
    const Status status = writer_->begin(failure);
    return status == Status::ok ? with_base(failure) : status;
}

Status Measure::run(Failure *failure) {
    if (in_.write) return save(in_.write, in_.write_user, failure);
    if (!in_.save_path) return with_base(failure);
    return save_snapshot(session_.model().host(), in_.save_path,
                         [&](WriteFn write, void *user) { return save(write, user, failure); });
}

ggufx_eval_options import_measure(const ggufx_eval_options *options) {
    const auto in = import_options(options, 0, "ggufx_eval_options");
    require(!in.save_path || !in.write,
            "ggufx_eval_options: save_path and write exclude each other");
    require(!in.reference_path || !in.read,
            "ggufx_eval_options: reference_path and read exclude each other");
    require(!in.save_path || in.save_path[0], "ggufx_eval_options.save_path is empty");
    require(!in.reference_path || in.reference_path[0],
            "ggufx_eval_options.reference_path is empty");
    require(in.reference_chunk == 0 || in.reference_path || in.read,
            "ggufx_eval_options.reference_chunk needs saved logits");
    (void)import_progress(in.progress); // refuse it before a file is started
    return in;
}

} // namespace

extern "C" ggufx_status ggufx_eval_perplexity(ggufx_eval_facts *out, ggufx_session *session,
                                              const int32_t *tokens, size_t n_tokens,
                                              uint32_t n_context, int32_t bos,
                                              const ggufx_eval_options *options,
                                              ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        require(tokens && n_tokens > 0, "tokens must hold at least one id");
        const ggufx_eval_options in = import_measure(options);
        check_output(out, "ggufx_eval_facts"); // before minutes of work
        const model::Chunks text = {tokens, n_tokens, n_context, bos, in.stride};
        // Before a file is started and chunks are counted.
        Status status = model::check_chunks(session->session, text, failure_of(error));
        if (status != Status::ok) return status;
        Measure measure(*session, text, in);
        status = ends_group(session->session.model().peers(),
                            [&] { return measure.run(failure_of(error)); });
        if (status == Status::ok) export_struct(out, measure.facts, "ggufx_eval_facts");
        return status;
    });
}

namespace {

// A loss is a value of -log(p). It may be infinite only in a run without saved logits.
void check_row(const ggufx_eval_row &row, size_t index, bool compared) {
    const bool finite =
        isfinite(row.loss) && isfinite(row.reference_loss) && isfinite(row.kl_divergence);
    const bool sound = compared ? finite && row.kl_divergence >= 0 : !isnan(row.loss);
    if (!sound)
        fail(Status::value, {.index = index}, "row %zu has an invalid loss or divergence", index);
    if (row.flags & ~GGUFX_EVAL_SAME_TOP)
        fail(Status::argument, {.index = index}, "row %zu has unknown flags 0x%x", index,
             row.flags);
}

} // namespace

extern "C" ggufx_status ggufx_eval_merge(ggufx_eval_facts *out, const ggufx_runtime *rt,
                                         const ggufx_eval_row *rows, size_t n_rows,
                                         uint64_t n_chunks, uint32_t n_context, uint32_t flags,
                                         ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(rows && n_rows > 0, "rows must hold at least one");
        require((flags & ~(GGUFX_EVAL_COMPARED | GGUFX_EVAL_SAME_MODEL)) == 0,
                "flags must be GGUFX_EVAL_COMPARED and _SAME_MODEL");
        check_output(out, "ggufx_eval_facts");
        uint64_t n_tokens = 0;
        require(checked::mul(&n_tokens, n_chunks, n_context), "n_chunks x n_context overflows");
        const bool compared = (flags & GGUFX_EVAL_COMPARED) != 0;
        model::LossSums losses;
        model::DivergenceSums divergence(rt->host.get(), compared ? n_rows : 0);
        const CanonicalFp canonical;
        for (size_t i = 0; i < n_rows; i++) {
            const ggufx_eval_row &row = rows[i];
            check_row(row, i, compared);
            losses.add(row.loss);
            if (compared)
                divergence.add({row.loss, row.reference_loss, row.kl_divergence,
                                (row.flags & GGUFX_EVAL_SAME_TOP) != 0});
        }
        ggufx_eval_facts facts = measure_facts_of(losses.result(n_chunks, n_tokens));
        if (compared)
            put_divergence(facts, divergence.result(), (flags & GGUFX_EVAL_SAME_MODEL) != 0);
        export_struct(out, facts, "ggufx_eval_facts");
    });
}

extern "C" ggufx_status ggufx_eval_continuations(double *out, ggufx_session *session,
                                                 const int32_t *context, size_t n_context,
                                                 const ggufx_token_list *continuations,
                                                 size_t n_continuations,
                                                 const ggufx_progress *progress,
                                                 ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        require(context && n_context > 0, "context must hold at least one id");
        require(continuations && n_continuations > 0, "there must be at least one continuation");
        const model::ChoicesTask task = {
            context, n_context, import_lists(continuations, n_continuations, "continuation"),
            n_continuations, import_progress(progress)};
        return ends_group(session->session.model().peers(), [&] {
            return model::score_continuations(out, session->session, task, failure_of(error));
        });
    });
}
