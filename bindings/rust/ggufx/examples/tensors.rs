//! Open a file and list its tensors: name, type, values per row and rows.
// SPDX-License-Identifier: MIT
use ggufx::{type_info, File, Result, Runtime};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    for tensor in file.tensors() {
        let info = tensor.info()?;
        println!(
            "{} {} {} x {}",
            tensor.name(),
            type_info(info.type_)?.name,
            info.ne[0],
            info.n_rows
        );
    }
    Ok(())
}
