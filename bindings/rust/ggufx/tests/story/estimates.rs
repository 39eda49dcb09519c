//! Memory estimates.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    file_type_find, EstimateFlags, EstimateOptions, TensorType, QuantizerFlags, QuantizerOptions,
    Status,
};

fn asked<'a>() -> EstimateOptions<'a> {
    let quantizer =
        Some(QuantizerOptions { flags: QuantizerFlags::ALLOW_REQUANTIZE, ..Default::default() });
    EstimateOptions { quantizer, n_context: 128, ..Default::default() }
}

#[test]
fn estimates_add_up_and_follow_what_is_asked() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let f = rt.estimate(&file, asked()).unwrap();
    assert!(
        f.flags.contains(EstimateFlags::FITS) && !f.flags.contains(EstimateFlags::HAS_FILE_TYPE)
    );
    assert_eq!((f.n_context, f.type_k, f.type_v), (128, TensorType::F16, TensorType::F16));
    let parts = f.runtime_bytes + f.model_bytes + f.kv_bytes + f.session_bytes;
    assert_eq!(f.total_bytes, f.file_bytes + parts);
    let file_type = file_type_find("Q4_0").unwrap();
    let small = EstimateOptions {
        file_type: Some(file_type),
        type_k: Some(TensorType::Q8_0),
        bandwidth: 1e10,
        ..asked()
    };
    let small = rt.estimate(&file, small).unwrap();
    assert_eq!((small.file_type, small.type_k), (file_type, TensorType::Q8_0));
    assert!(small.weight_bytes < f.weight_bytes && small.tokens_per_second > 0.0);
    let nothing = EstimateOptions { memory_bytes: 1000, ..asked() };
    fails(rt.recommend(&file, nothing), Status::CAPACITY);
}
