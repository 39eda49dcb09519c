//! Products, decoding and encoding; their lengths.
// SPDX-License-Identifier: MIT
use crate::flat::{dequantize_blocks, experts, matmul, quantize_blocks};
use crate::{demo, fails, numbers, runtime};
use ggufx::{MatmulFlags, MatmulOptions, Product, QuantizeArgs, Status, Tensor, TensorType};

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
    let mut list = [Product::new(&q, &x[..256], 1, &mut y), Product::new(&k, &x[..256], 1, &mut z)];
    rt.matmul(&mut list, MatmulOptions::default()).unwrap();
    assert_eq!((&y, &z), (&one, &other));
    let mut both = vec![0.0; 600];
    let apart = Product { ldy: 300, ldx: 256, ..Product::new(&q, &x, 2, &mut both) };
    matmul(&rt, apart, MatmulOptions::default()).unwrap();
    assert_eq!(both[..256], one[..]);
    assert_eq!(both[300..556], q.matvec(&rt, &x[256..]).unwrap()[..]);
}

#[test]
fn experts_are_slices_of_the_third_dimension() {
    let rt = runtime();
    let blocks =
        quantize_blocks(&rt, TensorType::Q8_0, &numbers(3 * 4 * 64), 64, QuantizeArgs::default())
            .unwrap();
    let w = Tensor::wrap(&rt, TensorType::Q8_0, &[64, 4, 3], 0, blocks, "experts").unwrap();
    let (x, mut y) = (numbers(64), vec![0.0; 8]);
    matmul(&rt, experts(&w, &[2, 0], 2, &x, &mut y), MatmulOptions::default()).unwrap();
    assert_eq!(y[..4], w.slice(2, 2, 1).unwrap().matvec(&rt, &x).unwrap()[..]);
    assert_eq!(y[4..], w.slice(2, 0, 1).unwrap().matvec(&rt, &x).unwrap()[..]);
    let bad = matmul(&rt, experts(&w, &[2, 3], 2, &x, &mut y), MatmulOptions::default());
    assert_eq!(fails(bad, Status::ARGUMENT).index(), Some(0));
    let bad = matmul(&rt, experts(&w, &[2, 1, 0], 2, &x, &mut y), MatmulOptions::default());
    fails(bad, Status::ARGUMENT);
}

#[test]
fn blocks_there_and_back() {
    let rt = runtime();
    let rows = numbers(2 * 256);
    for kind in [TensorType::Q8_0, TensorType::Q4_K, TensorType::F16] {
        let blocks = quantize_blocks(&rt, kind, &rows, 256, QuantizeArgs::default()).unwrap();
        assert_eq!(blocks.len() as u64, 2 * ggufx::type_row_bytes(kind, 256).unwrap());
        let mut back = vec![0.0; 512];
        dequantize_blocks(&rt, &mut back, kind, &blocks).unwrap();
        assert!(back.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 0.1), "{:?}", kind);
    }
    let weights = vec![1.0; 256];
    let options = || QuantizeArgs { imatrix: &weights, ..Default::default() };
    quantize_blocks(&rt, TensorType::IQ2_XS, &rows, 256, options()).unwrap();
    let no = QuantizeArgs::default;
    fails(quantize_blocks(&rt, TensorType::IQ2_XS, &rows, 256, no()), Status::ARGUMENT);
    fails(quantize_blocks(&rt, TensorType::Q4_K, &rows, 128, no()), Status::SHAPE);
    fails(quantize_blocks(&rt, TensorType(4), &rows, 256, no()), Status::TYPE);
    fails(quantize_blocks(&rt, TensorType::Q8_0, &rows, 64, options()), Status::ARGUMENT);
    let nan = [&rows[..300], &[f32::NAN], &rows[301..]].concat();
    let error = fails(quantize_blocks(&rt, TensorType::Q8_0, &nan, 256, no()), Status::VALUE);
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
