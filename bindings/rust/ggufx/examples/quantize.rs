//! Dequantizes the rows of a tensor to f32, quantizes them to Q4_K and back; prints sizes and
//! errors.
// SPDX-License-Identifier: MIT
use ggufx::{quantize_blocks, File, Result, Runtime, TensorType};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let tensor = file.tensor("token_embd.weight")?;
    let info = tensor.info()?;
    let before = tensor.dequantize(&rt, 0, info.n_rows)?;
    let n_cols = info.ne[0] as usize;
    let blocks = quantize_blocks(&rt, TensorType::Q4_K, &before, n_cols, Default::default())?;
    let mut after = vec![0.0; before.len()];
    rt.dequantize_blocks(&mut after, TensorType::Q4_K, &blocks)?;
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    let error: f64 = after.iter().zip(&before).map(square).sum();
    println!("{} bytes, as q4_K {}, squared error {:.6}", info.n_bytes, blocks.len(), error);
    Ok(())
}
