//! Tensors of files, of memory, and parts of them.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::io::{lend, RELEASE};
use crate::keep::{c_string, zeros};
use crate::watch::check;
use crate::{File, MatmulOptions, Product, Runtime, TensorType};
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
        let (n_dims, name, mut out) = (dims(ne)?, c_string(name)?, null_mut());
        let (data, n_bytes, user) = lend(Box::new(data));
        let mut options: sys::ggufx_tensor_options = unsafe { std::mem::zeroed() };
        options.struct_size = std::mem::size_of_val(&options) as u32;
        options.type_ = kind.0;
        options.n_dims = n_dims;
        options.ne[..ne.len()].copy_from_slice(ne);
        options.row_stride = row_stride;
        options.data = data.cast();
        options.n_bytes = n_bytes as u64;
        options.name = name.as_ptr().cast();
        options.destroy = Some(RELEASE);
        options.user = user;
        check(|e| unsafe { sys::ggufx_tensor_create(&mut out, rt.as_raw(), &options, e) })?;
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

/// [`Runtime::quantize`] into a new vector.
pub fn quantize(rt: &Runtime, args: crate::QuantizeArgs<'_>) -> Result<Vec<u8>> {
    let row_bytes = crate::type_row_bytes(args.type_, args.n_cols as u64)?;
    let mut out = zeros(row_bytes.saturating_mul(args.n_rows as u64))?;
    rt.quantize(&mut out, args)?;
    Ok(out)
}

impl<'a> Product<'a> {
    /// The product of a matrix and `n` dense columns.
    pub fn new(w: &'a Tensor<'a>, x: &'a [f32], n: usize, y: &'a mut [f32]) -> Self {
        Product { w, x, ldx: 0, n, y: Some(y), ldy: 0, ids: &[], n_used: 0 }
    }
}
