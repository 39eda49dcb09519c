//! Blocks to f32 and back.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::sized;
use crate::watch::{watch, Progress};
use crate::{QuantizeMode, Runtime, Tensor, TensorType};
use ggufx_sys as sys;

impl Tensor<'_> {
    /// Rows `first_row .. first_row + n_rows` as f32, in a new vector.
    pub fn dequantize(&self, rt: &Runtime, first_row: u64, n_rows: u64) -> Result<Vec<f32>> {
        let info = self.info()?;
        if first_row > info.n_rows || n_rows > info.n_rows - first_row {
            let text = format!("rows {} + {} of {}", first_row, n_rows, info.n_rows);
            return Err(Error::argument(text));
        }
        let mut out = vec![0.0; (n_rows * info.ne[0]) as usize];
        self.dequantize_into(rt, &mut out, first_row, n_rows)?;
        Ok(out)
    }
    /// Rows as f32 into a buffer. Errors: `ARGUMENT`, `TYPE`, `UNSUPPORTED`.
    pub fn dequantize_into(
        &self,
        rt: &Runtime,
        out: &mut [f32],
        first_row: u64,
        n_rows: u64,
    ) -> Result<()> {
        let (to, n) = (out.as_mut_ptr(), out.len());
        check(|e| unsafe {
            sys::ggufx_dequantize(to, n, rt.as_raw(), self.as_raw(), first_row, n_rows, e)
        })
    }
}

/// Whole blocks as f32 into a buffer. Errors: `ARGUMENT`, `TYPE`.
pub fn dequantize_blocks(
    rt: &Runtime,
    out: &mut [f32],
    kind: TensorType,
    blocks: &[u8],
) -> Result<()> {
    let (to, n, from) = (out.as_mut_ptr(), out.len(), blocks.as_ptr().cast());
    check(|e| unsafe {
        sys::ggufx_dequantize_blocks(to, n, rt.as_raw(), kind.0, from, blocks.len(), e)
    })
}

/// How rows are quantized; the default is all unset.
#[derive(Default)]
pub struct QuantizeOptions<'a> {
    /// Quantization method; None: the reference's bytes.
    pub mode: Option<QuantizeMode>,
    /// A weight per column.
    pub imatrix: Option<&'a [f32]>,
    /// Sees blocks, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

/// Rows of `n_cols` values as blocks, in a new vector.
pub fn quantize_blocks(
    rt: &Runtime,
    kind: TensorType,
    rows: &[f32],
    n_cols: usize,
    options: QuantizeOptions<'_>,
) -> Result<Vec<u8>> {
    if n_cols == 0 {
        return Err(Error::argument("rows of no columns"));
    }
    let n = kind.row_bytes(n_cols as u64)? as usize * (rows.len() / n_cols);
    let mut out = vec![0; n];
    quantize_blocks_into(rt, &mut out, kind, rows, n_cols, options)?;
    Ok(out)
}

/// Rows of `n_cols` values as blocks into a buffer. Errors: `ARGUMENT`, `TYPE`, `UNSUPPORTED`,
/// `SHAPE`, `VALUE`, `CANCELLED`, `MEMORY`.
pub fn quantize_blocks_into(
    rt: &Runtime,
    out: &mut [u8],
    kind: TensorType,
    rows: &[f32],
    n_cols: usize,
    options: QuantizeOptions<'_>,
) -> Result<()> {
    if n_cols == 0 || rows.len() % n_cols != 0 {
        return Err(Error::argument(format!("{} values in rows of {}", rows.len(), n_cols)));
    }
    let mut raw = sized!(ggufx_quantize_options);
    raw.mode = options.mode.map_or(0, |m| m.0);
    if let Some(weights) = options.imatrix {
        if weights.len() != n_cols {
            return Err(Error::argument(format!("{} weights of {}", weights.len(), n_cols)));
        }
        raw.imatrix = weights.as_ptr();
    }
    let (to, n) = (out.as_mut_ptr().cast(), out.len());
    let (from, n_rows) = (rows.as_ptr(), rows.len() / n_cols);
    watch(options.progress, |progress, e| unsafe {
        raw.progress = progress;
        sys::ggufx_quantize_blocks(to, n, rt.as_raw(), kind.0, from, n_rows, n_cols, &raw, e)
    })
}
