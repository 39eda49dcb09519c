//! What a call costs: the smallest product through the declarations and through this crate, beside
//! a 4096 x 4096 one. Prints nanoseconds.
// SPDX-License-Identifier: MIT
use ggufx::{quantize_blocks, sys, MatmulOptions, Runtime, Tensor, TensorType};
use std::time::Instant;

fn nanoseconds(n: u32, mut call: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        (0..n).for_each(|_| call());
        best = best.min(start.elapsed().as_nanos() as f64 / n as f64);
    }
    best
}

fn main() -> ggufx::Result<()> {
    let rt = Runtime::options().threads(1).create()?;
    let weights = |rows: usize, columns: usize, kind: TensorType| -> ggufx::Result<Tensor> {
        let values: Vec<f32> = (0..rows * columns).map(|i| (i % 17) as f32 - 8.0).collect();
        let blocks = quantize_blocks(&rt, kind, &values, columns, Default::default())?;
        Tensor::wrap(&rt, kind, &[columns as u64, rows as u64], 0, blocks, "w")
    };
    let (small, large) = (weights(1, 32, TensorType::Q8_0)?, weights(4096, 4096, TensorType::Q4_K)?);
    let (x, mut y) = (vec![1.0; 4096], vec![0.0; 4096]);
    let raw = nanoseconds(100_000, || unsafe {
        let mut e = std::mem::MaybeUninit::uninit();
        let (to, from) = (y.as_mut_ptr(), x.as_ptr());
        let null = std::ptr::null();
        sys::ggufx_matvec(to, 1, rt.as_raw(), small.as_raw(), from, 32, null, e.as_mut_ptr());
    });
    let safe = nanoseconds(100_000, || {
        small.matvec_into(&rt, &mut y[..1], &x[..32], MatmulOptions::default()).unwrap()
    });
    let whole = nanoseconds(5, || {
        large.matvec_into(&rt, &mut y, &x, MatmulOptions::default()).unwrap()
    });
    println!("C {:.0} Rust {:.0} 4096x4096 {:.0}", raw, safe, whole);
    Ok(())
}
