//! Call overhead: nanoseconds of the smallest product and of a 4096 x 4096 one of Q4_K, the best of
//! several rounds. Used by bindings/cost.py.
// SPDX-License-Identifier: MIT
use ggufx::{
    quantize, Hooks, MatmulOptions, QuantizeArgs, Runtime, RuntimeOptions, Tensor, TensorType,
};
use std::time::Instant;

fn best(rounds: u32, calls: u32, mut call: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        least = least.min(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    least
}

fn main() -> ggufx::Result<()> {
    let one = RuntimeOptions { threads: 1, ..Default::default() };
    let rt = Runtime::with(one, Hooks::default())?;
    let weights = |rows: usize, columns: usize, kind: TensorType| -> ggufx::Result<Tensor> {
        let values: Vec<f32> = (0..rows * columns).map(|i| (i % 17) as f32 - 8.0).collect();
        let args = QuantizeArgs {
            type_: kind,
            rows: &values,
            n_rows: rows,
            n_cols: columns,
            ..Default::default()
        };
        let blocks = quantize(&rt, args)?;
        Tensor::wrap(&rt, kind, &[columns as u64, rows as u64], 0, blocks, "w")
    };
    let (small, large) =
        (weights(1, 32, TensorType::Q8_0)?, weights(4096, 4096, TensorType::Q4_K)?);
    let (x, mut y) = (vec![1.0; 4096], vec![0.0; 4096]);
    let of_small = best(20, 20_000, || {
        rt.matvec(&mut y[..1], &small, &x[..32], MatmulOptions::default()).unwrap()
    });
    let of_large =
        best(100, 5, || rt.matvec(&mut y, &large, &x, MatmulOptions::default()).unwrap());
    println!("{:.1} {:.0}", of_small, of_large);
    Ok(())
}
