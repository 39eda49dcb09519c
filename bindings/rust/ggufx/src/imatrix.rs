//! Importance matrices (imatrix): weight of each column of a tensor.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::file::path_string;
use crate::handle::{bytes, create, handle, sized};
use crate::watch::{watch, Progress};
use crate::{ImatrixFormat, Runtime, Session};
use ggufx_sys as sys;
use std::ffi::CStr;
use std::ptr::NonNull;

handle! {
    /// Entries in the order of their file.
    Imatrix(ggufx_imatrix, ggufx_imatrix_destroy) sync
}

/// How a matrix is collected; the default is all unset.
#[derive(Default)]
pub struct CollectOptions<'a> {
    /// A token that replaces the first of each chunk.
    pub bos: Option<i32>,
    /// The matrix of the logits, too.
    pub output: bool,
    /// Name of the text, for the file.
    pub dataset: Option<&'a CStr>,
    /// Counts tokens, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

/// Facts of an importance matrix; see `ggufx_imatrix_facts`.
pub type ImatrixInfo = sys::ggufx_imatrix_facts;

/// Column weights of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct ImatrixEntry<'i> {
    /// Name of the weight tensor.
    pub name: &'i [u8],
    /// Columns.
    pub n_columns: usize,
    /// Experts; 1 for others.
    pub n_matrices: usize,
    /// Squared activations, `[n_matrices][n_columns]`.
    pub sums: &'i [f32],
    /// Tokens, `[n_matrices]`.
    pub counts: &'i [f32],
    /// Sums over counts, for [`QuantizeOptions`](crate::QuantizeOptions).
    pub values: &'i [f32],
}

impl Imatrix {
    /// Read a file of either format. Errors: those of `ggufx_imatrix_open`.
    pub fn open<'a>(
        rt: &Runtime,
        path: impl AsRef<std::path::Path>,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<Self> {
        let (path, mut out) = (path_string(path.as_ref())?, std::ptr::null_mut());
        watch(progress, |hook, e| unsafe {
            sys::ggufx_imatrix_open(&mut out, rt.as_raw(), path.as_ptr().cast(), hook, e)
        })?;
        Ok(Imatrix { raw: unsafe { NonNull::new_unchecked(out) } })
    }
    /// Read bytes, which are not needed afterwards.
    pub fn open_memory(rt: &Runtime, data: &[u8]) -> Result<Self> {
        let (from, n) = (data.as_ptr().cast(), data.len());
        let raw = create(|out, e| unsafe {
            sys::ggufx_imatrix_open_memory(out, rt.as_raw(), from, n, e)
        })?;
        Ok(Imatrix { raw })
    }
    /// Run a session's model over tokens in chunks of `n_context` and sum the squares of the inputs
    /// of its matrices. The session must be empty; it is empty again afterwards. Errors:
    /// `ARGUMENT`, `CANCELLED`, `MEMORY`, `STATE`, `VALUE`.
    pub fn collect(
        session: &mut Session,
        tokens: &[i32],
        n_context: u32,
        options: CollectOptions<'_>,
    ) -> Result<Self> {
        let (mut raw, mut out) = (sized!(ggufx_imatrix_options), std::ptr::null_mut());
        raw.flags = if options.output { sys::GGUFX_COLLECT_OUTPUT } else { 0 };
        raw.dataset = options.dataset.map_or(std::ptr::null(), |name| name.as_ptr().cast());
        let (session, from, n) = (session.as_raw(), tokens.as_ptr(), tokens.len());
        let bos = options.bos.unwrap_or(-1);
        watch(options.progress, |hook, e| unsafe {
            raw.progress = hook;
            sys::ggufx_imatrix_collect(&mut out, session, from, n, n_context, bos, &raw, e)
        })?;
        Ok(Imatrix { raw: unsafe { NonNull::new_unchecked(out) } })
    }
    /// Describe it.
    pub fn info(&self) -> Result<ImatrixInfo> {
        let mut out = sized!(ggufx_imatrix_facts);
        check(|e| unsafe { sys::ggufx_imatrix_info(&mut out, self.as_raw(), e) })?;
        Ok(out)
    }
    /// Entry `index`. Errors: `ARGUMENT`.
    pub fn entry(&self, index: usize) -> Result<ImatrixEntry<'_>> {
        let mut out = sized!(ggufx_imatrix_entry);
        check(|e| unsafe { sys::ggufx_imatrix_at(&mut out, self.as_raw(), index, e) })?;
        let (n_columns, n_matrices) = (out.n_columns as usize, out.n_matrices as usize);
        let floats = |p: *const f32, n: usize| {
            if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(p, n) } }
        };
        Ok(ImatrixEntry {
            name: unsafe { bytes(out.name, out.name_length) },
            n_columns,
            n_matrices,
            sums: floats(out.sums, n_columns * n_matrices),
            counts: floats(out.counts, n_matrices),
            values: floats(out.values, n_columns * n_matrices),
        })
    }
    /// The entry of a weight tensor. Errors: `NOT_FOUND`.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Result<ImatrixEntry<'_>> {
        let (name, mut out) = (name.as_ref(), 0);
        let (at, n) = (name.as_ptr().cast(), name.len());
        check(|e| unsafe { sys::ggufx_imatrix_find(&mut out, self.as_raw(), at, n, e) })?;
        self.entry(out)
    }
    /// Name of a data set it was computed from.
    pub fn dataset(&self, index: usize) -> Result<&[u8]> {
        let (mut text, mut n) = (std::ptr::null(), 0);
        check(|e| unsafe {
            sys::ggufx_imatrix_dataset(&mut text, &mut n, self.as_raw(), index, e)
        })?;
        Ok(unsafe { bytes(text, n) })
    }
    /// Keep the entries whose element of `keep` is not 0.
    pub fn select(&mut self, keep: &[u8]) -> Result<()> {
        check(|e| unsafe {
            sys::ggufx_imatrix_select(self.as_raw(), keep.as_ptr(), keep.len(), e)
        })
    }
    /// Add another one. Errors: `MISMATCH`, `VALUE`, `MEMORY`.
    pub fn merge(&mut self, other: &Imatrix) -> Result<()> {
        check(|e| unsafe { sys::ggufx_imatrix_merge(self.as_raw(), other.as_raw(), e) })
    }
    /// Write a file, whole or not at all.
    pub fn write<'a>(
        &self,
        path: impl AsRef<std::path::Path>,
        format: ImatrixFormat,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<()> {
        let path = path_string(path.as_ref())?;
        let (from, to) = (self.as_raw(), path.as_ptr().cast());
        watch(progress, |hook, e| unsafe {
            sys::ggufx_imatrix_write(from, to, format.0, hook, e)
        })
    }
}
