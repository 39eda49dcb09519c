//! Tensors of files, of memory, and parts of them.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::io::{lend, RELEASE};
use crate::keep::{c_string, zeros, Keep};
use crate::watch::{check, watched};
use crate::{File, MatmulOptions, Runtime, TensorType};
use ggufx_sys as sys;
use std::marker::PhantomData;
use std::ptr::{null_mut, NonNull};

/// A typed, shaped, strided view of weights; immutable. `'f` is the file it is borrowed from;
/// wrapped memory and slices keep what they need themselves.
pub struct Tensor<'f> {
    raw: NonNull<sys::ggufx_tensor>,
    owned: bool,
    file: PhantomData<&'f File>,
}
// SAFETY: immutable; const objects may be used by several threads at once.
unsafe impl Send for Tensor<'_> {}
unsafe impl Sync for Tensor<'_> {}

impl Drop for Tensor<'_> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: owned, not used any more.
            unsafe { sys::ggufx_tensor_destroy(self.raw.as_ptr()) }
        }
    }
}

impl<'f> Tensor<'f> {
    /// # Safety
    /// `raw` is a tensor of a file that lives for 'f.
    pub(crate) unsafe fn borrowed(raw: *const sys::ggufx_tensor) -> Self {
        Tensor { raw: crate::handle::made(raw as *mut _), owned: false, file: PhantomData }
    }
    pub(crate) fn of_raw(raw: *mut sys::ggufx_tensor) -> Tensor<'static> {
        Tensor { raw: crate::handle::made(raw), owned: true, file: PhantomData }
    }
    /// Wrap blocks in file format; they are dropped with the last user of the tensor. `row_stride`
    /// 0: dense. Errors: `ARGUMENT`, `TYPE`, `SHAPE`, `OVERFLOW`, `BOUNDS`, `MEMORY`.
    pub fn wrap(
        rt: &Runtime,
        kind: TensorType,
        ne: &[u64],
        row_stride: u64,
        data: impl AsRef<[u8]> + Send + Sync + 'static,
        name: &str,
    ) -> Result<Tensor<'static>> {
        let (dims, name, mut out) = (dims(ne)?, c_string(name)?, null_mut());
        let (data, n, user) = lend(Box::new(data));
        check(|e| unsafe {
            sys::ggufx_tensor_wrap(
                &mut out,
                rt.as_raw(),
                kind.0,
                dims,
                ne.as_ptr(),
                row_stride,
                data.cast(),
                n as u64,
                name.as_ptr().cast(),
                Some(RELEASE),
                user,
                e,
            )
        })?;
        Ok(Tensor::of_raw(out))
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *const sys::ggufx_tensor {
        self.raw.as_ptr()
    }
    /// The name, when it is UTF-8.
    pub fn name(&self) -> &str {
        self.info().map_or("", |i| std::str::from_utf8(i.name).unwrap_or(""))
    }
    /// Bytes from the first row to the end of the last one, `row_stride` apart; None when they are
    /// not in memory.
    pub fn data(&self) -> Option<&[u8]> {
        let (data, facts) = (unsafe { sys::ggufx_tensor_data(self.as_raw()) }, self.info().ok()?);
        if data.is_null() || facts.n_rows == 0 {
            return None;
        }
        let n = (facts.n_rows - 1) * facts.row_stride + facts.row_bytes;
        // SAFETY: the bytes live as long as the tensor.
        Some(unsafe { std::slice::from_raw_parts(data.cast(), n as usize) })
    }
    /// [`Runtime::matvec`] into a new vector: y = W x.
    pub fn matvec(&self, rt: &Runtime, x: &[f32]) -> Result<Vec<f32>> {
        let mut y = zeros(self.info()?.n_rows)?;
        rt.matvec(&mut y, self, x, MatmulOptions::default())?;
        Ok(y)
    }
    /// [`Runtime::dequantize`] into a new vector: rows `first_row .. first_row + n_rows`.
    pub fn dequantize(&self, rt: &Runtime, first_row: u64, n_rows: u64) -> Result<Vec<f32>> {
        let info = self.info()?;
        if first_row > info.n_rows || n_rows > info.n_rows - first_row {
            let text = format!("rows {} + {} of {}", first_row, n_rows, info.n_rows);
            return Err(Error::argument(text));
        }
        let mut out = zeros(n_rows * info.ne[0])?;
        rt.dequantize(&mut out, self, first_row, n_rows)?;
        Ok(out)
    }
}

/// The number of dimensions of a shape.
pub(crate) fn dims(ne: &[u64]) -> Result<u32> {
    if ne.len() > 4 {
        return Err(Error::argument(format!("{} dimensions, at most 4", ne.len())));
    }
    Ok(ne.len() as u32)
}

impl std::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.info() {
            Ok(i) => write!(f, "Tensor({:?} {:?} {:?})", self.name(), i.type_, i.ne),
            Err(e) => write!(f, "Tensor({})", e),
        }
    }
}

/// [`Runtime::quantize_blocks`] into a new vector: rows of `n_cols` values as blocks.
pub fn quantize_blocks(
    rt: &Runtime,
    kind: TensorType,
    rows: &[f32],
    n_cols: usize,
    options: crate::QuantizeOptions<'_>,
) -> Result<Vec<u8>> {
    if n_cols == 0 {
        return Err(Error::argument("rows of no columns"));
    }
    let n_rows = rows.len() / n_cols;
    let mut out = zeros(crate::row_bytes(kind, n_cols as u64)?.saturating_mul(n_rows as u64))?;
    rt.quantize_blocks(&mut out, kind, rows, n_rows, n_cols, options)?;
    Ok(out)
}

impl Runtime {
    /// `y[i] = w[i] x` for several matrices and one vector, at most 64.
    pub fn matvec_many(
        &self,
        y: &mut [&mut [f32]],
        w: &[&Tensor<'_>],
        x: &[f32],
        options: MatmulOptions<'_>,
    ) -> Result<()> {
        const MOST: usize = sys::GGUFX_MATVEC_MAX_MATRICES;
        if y.len() != w.len() || w.len() > MOST {
            let text = format!("{} results of {} matrices, at most {}", y.len(), w.len(), MOST);
            return Err(Error::argument(text));
        }
        let (mut to, mut n_y, mut from) = ([null_mut(); MOST], [0; MOST], [std::ptr::null(); MOST]);
        for (i, (y, w)) in y.iter_mut().zip(w).enumerate() {
            (to[i], n_y[i], from[i]) = (y.as_mut_ptr(), y.len(), w.as_raw());
        }
        let (to, n_y, from, n) = (to.as_ptr(), n_y.as_ptr(), from.as_ptr(), w.len());
        let (held, rt) = (Keep::new(), self.as_raw());
        let raw = options.raw(&held)?;
        watched(|e| unsafe {
            sys::ggufx_matvec_many(to, n_y, rt, from, n, x.as_ptr(), x.len(), &raw, e)
        })
    }
}
