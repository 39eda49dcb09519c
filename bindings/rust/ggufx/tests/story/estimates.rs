//! Memory estimates.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    estimate, recommend, EstimateFlags, EstimateOptions, FileType, JobFlags, KvType,
    QuantizerOptions, Status,
};

fn asked<'a>() -> EstimateOptions<'a> {
    let quantizer = QuantizerOptions { flags: JobFlags::ALLOW_REQUANTIZE, ..Default::default() };
    EstimateOptions { quantizer, n_context: 128, ..Default::default() }
}

#[test]
fn estimates_add_up_and_follow_what_is_asked() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let as_is = estimate(&rt, &file, asked()).unwrap();
    let f = &as_is.facts;
    assert!(as_is.recipe.is_none() && as_is.flags.contains(EstimateFlags::FITS));
    assert_eq!((f.n_context, as_is.kv_types), (128, (KvType::F16, KvType::F16)));
    let parts = f.runtime_bytes + f.model_bytes + f.kv_bytes + f.session_bytes;
    assert_eq!(f.total_bytes, f.file_bytes + parts);
    let recipe = FileType::from_name("Q4_0").ok();
    let small = EstimateOptions { recipe, type_k: Some(KvType::Q8_0), bandwidth: 1e10, ..asked() };
    let small = estimate(&rt, &file, small).unwrap();
    assert_eq!((small.recipe, small.kv_types.0), (recipe, KvType::Q8_0));
    assert!(small.facts.weight_bytes < f.weight_bytes && small.facts.tokens_per_second > 0.0);
    assert!(small.facts.loss > f.loss && f.tokens_per_second == 0.0);
}

#[test]
fn what_fits_best_is_recommended() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let whole = recommend(&rt, &file, asked()).unwrap();
    let limit = EstimateOptions { memory_bytes: whole.facts.total_bytes - 1, ..asked() };
    let less = recommend(&rt, &file, limit).unwrap();
    assert!(less.facts.total_bytes < whole.facts.total_bytes && less.facts.loss > whole.facts.loss);
    let nothing = EstimateOptions { memory_bytes: 1000, ..asked() };
    fails(recommend(&rt, &file, nothing), Status::CAPACITY);
    fails(estimate(&rt, &file, EstimateOptions { bandwidth: -1.0, ..asked() }), Status::ARGUMENT);
}
