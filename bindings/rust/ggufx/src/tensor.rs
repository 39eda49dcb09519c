//! Tensors of files, of memory, and parts of them.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::{bytes, create, sized};
use crate::io::{lend, release};
use crate::types::c_string;
use crate::{File, Runtime, TensorType};
use ggufx_sys as sys;
use std::marker::PhantomData;
use std::ptr::NonNull;

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
            unsafe { sys::ggufx_tensor_destroy(self.raw.as_ptr()) }
        }
    }
}

/// Facts of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct TensorInfo<'t> {
    /// Any bytes.
    pub name: &'t [u8],
    /// Type of its blocks.
    pub kind: TensorType,
    /// Dimensions, 0..4.
    pub n_dims: u32,
    /// Values per dimension, `ne[0]` along a row; 1 beyond `n_dims`.
    pub ne: [u64; 4],
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Distance of two rows in bytes.
    pub row_stride: u64,
    /// Rows over all outer dimensions.
    pub n_rows: u64,
    /// Bytes as in the file.
    pub n_bytes: u64,
    /// From the start of the file; None when wrapped.
    pub file_offset: Option<u64>,
    /// Number of its file in a split set.
    pub part: u32,
}

impl<'f> Tensor<'f> {
    /// # Safety
    /// `raw` is a tensor of a file that lives for 'f.
    pub(crate) unsafe fn borrowed(raw: *const sys::ggufx_tensor) -> Self {
        let raw = NonNull::new_unchecked(raw as *mut sys::ggufx_tensor);
        Tensor { raw, owned: false, file: PhantomData }
    }
    fn owned(raw: NonNull<sys::ggufx_tensor>) -> Tensor<'static> {
        Tensor { raw, owned: true, file: PhantomData }
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
        if ne.len() > 4 {
            return Err(Error::argument(format!("{} dimensions, at most 4", ne.len())));
        }
        let name = c_string(name)?;
        let (data, n, user) = lend(Box::new(data));
        let (dims, stride) = (ne.len() as u32, row_stride);
        let raw = create(|out, e| unsafe {
            sys::ggufx_tensor_wrap(
                out, rt.as_raw(), kind.0, dims, ne.as_ptr(), stride, data.cast(), n as u64,
                name.as_ptr().cast(), Some(release), user, e,
            )
        })?;
        Ok(Self::owned(raw))
    }
    /// Indices `first .. first + n` of a dimension. The slice keeps the data alive by itself.
    /// Errors: `ARGUMENT`, `SHAPE` (off a block border), `UNSUPPORTED`, `MEMORY`.
    pub fn slice(&self, dim: u32, first: u64, n: u64) -> Result<Tensor<'static>> {
        let raw = create(|out, e| unsafe {
            sys::ggufx_tensor_slice(out, self.as_raw(), dim, first, n, e)
        })?;
        Ok(Self::owned(raw))
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *const sys::ggufx_tensor {
        self.raw.as_ptr()
    }
    fn facts(&self) -> Result<sys::ggufx_tensor_facts> {
        let mut out = sized!(ggufx_tensor_facts);
        check(|e| unsafe { sys::ggufx_tensor_info(&mut out, self.as_raw(), e) })?;
        Ok(out)
    }
    /// Describe the tensor.
    pub fn info(&self) -> Result<TensorInfo<'_>> {
        let out = self.facts()?;
        let present = |v: u64| if v == sys::GGUFX_NONE { None } else { Some(v) };
        Ok(TensorInfo {
            name: unsafe { bytes(out.name, out.name_length) },
            kind: TensorType(out.type_),
            n_dims: out.n_dims,
            ne: out.ne,
            row_bytes: out.row_bytes,
            row_stride: out.row_stride,
            n_rows: out.n_rows,
            n_bytes: out.n_bytes,
            file_offset: present(out.file_offset),
            part: out.part,
        })
    }
    /// The name, when it is UTF-8.
    pub fn name(&self) -> &str {
        self.info().map_or("", |i| std::str::from_utf8(i.name).unwrap_or(""))
    }
    /// Bytes from the first row to the end of the last one, `row_stride` apart; None when they are
    /// not in memory.
    pub fn data(&self) -> Option<&[u8]> {
        let (data, facts) = (unsafe { sys::ggufx_tensor_data(self.as_raw()) }, self.facts().ok()?);
        if data.is_null() || facts.n_rows == 0 {
            return None;
        }
        let n = (facts.n_rows - 1) * facts.row_stride + facts.row_bytes;
        Some(unsafe { std::slice::from_raw_parts(data.cast(), n as usize) })
    }
}

impl std::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.info() {
            Ok(i) => write!(f, "Tensor({:?} {:?} {:?})", self.name(), i.kind, i.ne),
            Err(e) => write!(f, "Tensor({})", e),
        }
    }
}

/// Tensors of a file in their order.
#[derive(Clone, Debug)]
pub struct TensorIter<'f> {
    file: &'f File,
    next: usize,
    n: usize,
}
impl<'f> TensorIter<'f> {
    pub(crate) fn new(file: &'f File) -> Self {
        let n = unsafe { sys::ggufx_file_tensor_count(file.as_raw()) };
        TensorIter { file, next: 0, n }
    }
}
impl<'f> Iterator for TensorIter<'f> {
    type Item = Tensor<'f>;
    fn next(&mut self) -> Option<Tensor<'f>> {
        if self.next == self.n {
            return None;
        }
        self.next += 1;
        let raw = unsafe { sys::ggufx_file_tensor(self.file.as_raw(), self.next - 1) };
        Some(unsafe { Tensor::borrowed(raw) })
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n - self.next, Some(self.n - self.next))
    }
}
impl ExactSizeIterator for TensorIter<'_> {}
