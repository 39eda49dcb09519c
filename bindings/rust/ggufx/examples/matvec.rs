//! y = W x, straight from the quantized blocks of a file.
// SPDX-License-Identifier: MIT
use ggufx::{File, Result, Runtime};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let w = file.tensor("token_embd.weight")?;
    let x: Vec<f32> = (0..w.info()?.ne[0]).map(|i| (i % 7) as f32 - 3.0).collect();
    let y = w.matvec(&rt, &x)?;
    let last = y.len() - 1;
    println!("{} rows, y[0] = {:.6}, y[{}] = {:.6}", y.len(), y[0], last, y[last]);
    Ok(())
}
