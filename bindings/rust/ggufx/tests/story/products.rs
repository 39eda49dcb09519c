//! Products, decoding and encoding; their lengths.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, numbers, runtime};
use ggufx::{MatmulFlags, MatmulOptions, QuantizeOptions, Status, Tensor, TensorType};

#[test]
fn a_product_is_that_of_the_decoded_weights() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let (w, x) = (file.tensor("blk.0.ffn_down.weight").unwrap(), numbers(768));
    let options = MatmulOptions { flags: MatmulFlags::F32, ..Default::default() };
    let mut y = vec![0.0; 256];
    rt.matvec(&mut y, &w, &x, options).unwrap();
    let rows = w.dequantize(&rt, 0, 256).unwrap();
    for (y, row) in y.iter().zip(rows.chunks(768)) {
        let sum: f64 = row.iter().zip(&x).map(|(a, b)| *a as f64 * *b as f64).sum();
        assert!((*y as f64 - sum).abs() < 1e-4, "{} {}", y, sum);
    }
    let quick = w.matvec(&rt, &x).unwrap();
    assert!(quick.iter().zip(&y).all(|(a, b)| (a - b).abs() < 0.2) && quick != y);
}

#[test]
fn several_columns_and_matrices_have_the_bits_of_one() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let q = file.tensor("blk.0.attn_q.weight").unwrap();
    let k = file.tensor("blk.0.attn_k.weight").unwrap();
    let x = numbers(512);
    let (one, other) = (q.matvec(&rt, &x[..256]).unwrap(), k.matvec(&rt, &x[..256]).unwrap());
    let (mut y, mut z) = (vec![0.0; 256], vec![0.0; 128]);
    rt.matvec_many(&mut [&mut y, &mut z], &[&q, &k], &x[..256], MatmulOptions::default()).unwrap();
    assert_eq!((&y, &z), (&one, &other));
    let mut both = vec![0.0; 600];
    rt.matmul(&mut both, 300, &q, &x, 256, 2, MatmulOptions::default()).unwrap();
    assert_eq!(both[..256], one[..]);
    assert_eq!(both[300..556], q.matvec(&rt, &x[256..]).unwrap()[..]);
}

#[test]
fn experts_are_slices_of_the_third_dimension() {
    let rt = runtime();
    let blocks = ggufx::quantize_blocks(
        &rt,
        TensorType::Q8_0,
        &numbers(3 * 4 * 64),
        64,
        QuantizeOptions::default(),
    )
    .unwrap();
    let w = Tensor::wrap(&rt, TensorType::Q8_0, &[64, 4, 3], 0, blocks, "experts").unwrap();
    let (x, mut y) = (numbers(64), vec![0.0; 8]);
    rt.matmul_id(&mut y, 0, &w, &[2, 0], 2, &x, 0, 1, MatmulOptions::default()).unwrap();
    assert_eq!(y[..4], w.slice(2, 2, 1).unwrap().matvec(&rt, &x).unwrap()[..]);
    assert_eq!(y[4..], w.slice(2, 0, 1).unwrap().matvec(&rt, &x).unwrap()[..]);
    let bad = rt.matmul_id(&mut y, 0, &w, &[2, 3], 2, &x, 0, 1, MatmulOptions::default());
    assert_eq!(fails(bad, Status::ARGUMENT).index(), Some(1));
    let bad = rt.matmul_id(&mut y, 0, &w, &[2, 1, 0], 2, &x, 0, 1, MatmulOptions::default());
    fails(bad, Status::ARGUMENT);
}

#[test]
fn blocks_there_and_back() {
    let rt = runtime();
    let rows = numbers(2 * 256);
    for kind in [TensorType::Q8_0, TensorType::Q4_K, TensorType::F16] {
        let blocks =
            ggufx::quantize_blocks(&rt, kind, &rows, 256, QuantizeOptions::default()).unwrap();
        assert_eq!(blocks.len() as u64, 2 * ggufx::row_bytes(kind, 256).unwrap());
        let mut back = vec![0.0; 512];
        rt.dequantize_blocks(&mut back, kind, &blocks).unwrap();
        assert!(back.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 0.1), "{:?}", kind);
    }
    let weights = vec![1.0; 256];
    let options = || QuantizeOptions { imatrix: &weights, ..Default::default() };
    ggufx::quantize_blocks(&rt, TensorType::IQ2_XS, &rows, 256, options()).unwrap();
    let no = QuantizeOptions::default;
    fails(ggufx::quantize_blocks(&rt, TensorType::IQ2_XS, &rows, 256, no()), Status::ARGUMENT);
    fails(ggufx::quantize_blocks(&rt, TensorType::Q4_K, &rows, 128, no()), Status::SHAPE);
    fails(ggufx::quantize_blocks(&rt, TensorType(4), &rows, 256, no()), Status::TYPE);
    fails(ggufx::quantize_blocks(&rt, TensorType::Q8_0, &rows, 64, options()), Status::ARGUMENT);
    let nan = [&rows[..300], &[f32::NAN], &rows[301..]].concat();
    let error =
        fails(ggufx::quantize_blocks(&rt, TensorType::Q8_0, &nan, 256, no()), Status::VALUE);
    assert_eq!(error.index(), Some(1));
    fails(Tensor::wrap(&rt, TensorType::Q8_0, &[64, 2], 0, vec![0; 100], "w"), Status::BOUNDS);
    fails(Tensor::wrap(&rt, TensorType::F32, &[1; 5], 0, vec![0; 4], "w"), Status::ARGUMENT);
}

#[test]
fn wrong_lengths_are_refused() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let w = file.tensor("blk.0.attn_q.weight").unwrap();
    fails(w.matvec(&rt, &numbers(255)), Status::ARGUMENT);
    let mut y = vec![0.0; 255];
    let into = rt.matvec(&mut y, &w, &numbers(256), MatmulOptions::default());
    fails(into, Status::ARGUMENT);
    fails(w.dequantize(&rt, 255, 2), Status::ARGUMENT);
    fails(w.slice(0, 1, 32), Status::SHAPE);
}
