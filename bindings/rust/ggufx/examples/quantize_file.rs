//! Quantizes a whole model by the recipe Q4_K_M, to the same bytes as the reference quantizer.
//! usage: quantize_file MODEL.gguf OUT.gguf
// SPDX-License-Identifier: MIT
use ggufx::{
    file_type_find, File, Quantizer, QuantizerFlags, QuantizerOptions, QuantizerRunOptions, Result,
    Runtime,
};

fn main() -> Result<()> {
    let mut paths = std::env::args().skip(1);
    let rt = Runtime::new()?;
    let path = paths.next().expect("a GGUF file");
    let file = File::open(&rt, path, Default::default())?;
    let recipe = file_type_find("Q4_K_M")?;
    let flags = QuantizerFlags::ALLOW_REQUANTIZE; // the demo's model is Q8_0 already
    let options = QuantizerOptions { flags, ..Default::default() };
    let mut job = Quantizer::new(&rt, &file, recipe, options)?;
    let plan = job.info()?;
    job.run(paths.next().expect("a name for the result"), QuantizerRunOptions::default())?;
    println!("{} tensors, {} bytes become {}", plan.n_tensors, plan.bytes_in, plan.bytes_out);
    Ok(())
}
