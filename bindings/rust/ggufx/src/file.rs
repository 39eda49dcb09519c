//! GGUF files: what they are opened from, their keys and tensors.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::io::{io_of, ReadAt};
use crate::keep::Keep;
use crate::watch::watched;
use crate::{File, Meta, OpenOptions, Quantizer, QuantizerTensorFacts, Runtime, Tensor};
use ggufx_sys as sys;
use std::ptr::null_mut;

impl File {
    /// Open through a reader. A panic in it fails the open with `IO`. Errors: as [`File::open`].
    pub fn open_io(rt: &Runtime, reader: impl ReadAt, options: OpenOptions<'_>) -> Result<Self> {
        let (held, mut out) = (Keep::new(), null_mut());
        let raw = options.raw(&held)?;
        let io = io_of(Box::new(reader));
        watched(|e| unsafe { sys::ggufx_open_io(&mut out, rt.as_raw(), &io, &raw, e) })?;
        Ok(File::of_raw(out))
    }
    /// All keys in file order.
    pub fn meta(&self) -> impl ExactSizeIterator<Item = Meta<'_>> + '_ {
        (0..self.meta_count()).map(move |index| Meta::new(self, index))
    }
    /// A key. Errors: `NOT_FOUND`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Meta<'_>> {
        Ok(Meta::new(self, self.meta_find(key)?))
    }
    /// All tensors in file order.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> + '_ {
        (0..self.tensor_count()).map(move |index| self.tensor_at(index))
    }
    /// A tensor by its name. Errors: `NOT_FOUND`.
    pub fn tensor(&self, name: impl AsRef<[u8]>) -> Result<Tensor<'_>> {
        Ok(self.tensor_at(self.tensor_find(name)?))
    }
    fn tensor_at(&self, index: usize) -> Tensor<'_> {
        // SAFETY: the file lives as long as the result.
        unsafe { Tensor::borrowed(sys::ggufx_file_tensor(self.as_raw(), index)) }
    }
}

impl Quantizer {
    /// All tensors in the order they are written.
    pub fn tensors(&self) -> impl Iterator<Item = QuantizerTensorFacts<'_>> {
        (0..).map_while(move |index| self.tensor_at(index).ok())
    }
}
