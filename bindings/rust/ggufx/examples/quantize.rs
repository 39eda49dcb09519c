//! Dequantizes the rows of a tensor to f32, quantizes them to Q4_K and back; prints sizes and
//! errors.
// SPDX-License-Identifier: MIT
use ggufx::{quantize, File, QuantizeArgs, Result, Runtime, Tensor, TensorType};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let tensor = file.tensor("token_embd.weight")?;
    let info = tensor.info()?;
    let before = tensor.dequantize(&rt, 0, info.n_rows)?;
    let n_cols = info.ne[0] as usize;
    let (type_, n_rows) = (TensorType::Q4_K, info.n_rows as usize);
    let args = QuantizeArgs { type_, rows: &before, n_rows, n_cols, ..Default::default() };
    let smaller =
        Tensor::wrap(&rt, type_, &[info.ne[0], info.n_rows], 0, quantize(&rt, args)?, "")?;
    let after = smaller.dequantize(&rt, 0, info.n_rows)?;
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    let error: f64 = after.iter().zip(&before).map(square).sum();
    println!(
        "{} bytes, as q4_K {}, squared error {:.6}",
        info.n_bytes,
        smaller.info()?.n_bytes,
        error
    );
    Ok(())
}
