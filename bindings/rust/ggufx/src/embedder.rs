//! Embeddings of texts, and scores of rerankers.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{create, sized};
use crate::watch::{watch, Progress};
use crate::{EmbedFlags, File, MatmulFlags, Model, Pooling, Runtime};
use ggufx_sys as sys;

mod raw {
    use super::*;
    use crate::handle::handle;
    handle! {
        /// One C embedder.
        Handle(ggufx_embedder, ggufx_embedder_destroy) sync
    }
    impl Handle {
        pub fn new(raw: std::ptr::NonNull<sys::ggufx_embedder>) -> Self {
            Handle { raw }
        }
    }
}

/// Computes embeddings. Keeps its model alive.
#[derive(Debug)]
pub struct Embedder {
    handle: raw::Handle,
    info: EmbedderInfo,
}

/// Options of an embedder; 0 is the default.
#[derive(Clone, Copy, Debug)]
pub struct EmbedOptions {
    /// Maximum tokens of a text; 0: the trained context, at most 8,192.
    pub n_context: u32,
    /// Tokens computed at once; 0: 512, or `n_context`.
    pub n_batch: u32,
    /// Pooling of a text's hidden states.
    pub pooling: Pooling,
    /// Values of a result that are kept, the first ones; 0: all.
    pub dimensions: u32,
    /// Normalization of the results; truncation of texts.
    pub flags: EmbedFlags,
    /// Matmul flags.
    pub matmul_flags: MatmulFlags,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        EmbedOptions {
            n_context: 0,
            n_batch: 0,
            pooling: Pooling::DEFAULT,
            dimensions: 0,
            flags: EmbedFlags::NONE,
            matmul_flags: MatmulFlags::NONE,
        }
    }
}

impl EmbedOptions {
    fn raw(&self) -> sys::ggufx_embed_options {
        let mut raw = sized!(ggufx_embed_options);
        raw.flags = self.flags.0;
        raw.n_context = self.n_context;
        raw.n_batch = self.n_batch;
        raw.pooling = self.pooling.0;
        raw.dimensions = self.dimensions;
        raw.matmul_flags = self.matmul_flags.0;
        raw
    }
}

/// Facts of an embedder.
#[derive(Clone, Copy, Debug)]
pub struct EmbedderInfo {
    /// Maximum tokens of a text.
    pub n_context: u32,
    /// Tokens computed at once.
    pub n_batch: u32,
    /// Never `DEFAULT`.
    pub pooling: Pooling,
    /// Values of a result; for `RANK`, the file's classes.
    pub dimensions: u32,
    /// Before the first of them are kept.
    pub full_dimensions: u32,
}

impl Embedder {
    /// An embedder with all its memory. Errors: those of `ggufx_embedder_create`.
    pub fn new(model: &Model, options: EmbedOptions) -> Result<Self> {
        let raw = options.raw();
        let handle = create(|out, e| unsafe {
            sys::ggufx_embedder_create(out, model.as_raw(), &raw, e)
        })?;
        let handle = raw::Handle::new(handle);
        let mut out = sized!(ggufx_embedder_facts);
        check(|e| unsafe { sys::ggufx_embedder_info(&mut out, handle.as_raw(), e) })?;
        let info = EmbedderInfo {
            n_context: out.n_context,
            n_batch: out.n_batch,
            pooling: Pooling(out.pooling),
            dimensions: out.dimensions,
            full_dimensions: out.full_dimensions,
        };
        Ok(Embedder { handle, info })
    }
    /// Memory of such an embedder in bytes, without its model.
    pub fn estimate(rt: &Runtime, file: &File, options: EmbedOptions) -> Result<u64> {
        let (raw, mut out) = (options.raw(), 0);
        check(|e| unsafe {
            sys::ggufx_embedder_estimate(&mut out, rt.as_raw(), file.as_raw(), &raw, e)
        })?;
        Ok(out)
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *mut sys::ggufx_embedder {
        self.handle.as_raw()
    }
    /// Describe it.
    pub fn info(&self) -> EmbedderInfo {
        self.info
    }
    /// A row of `dimensions` floats for each text, with `Pooling::NONE` for each token that is
    /// used. The inputs are concatenated; text i has `lengths[i]` tokens. Errors: `ARGUMENT`,
    /// `CANCELLED`, `VALUE`.
    pub fn embed_into<'a>(
        &mut self,
        out: &mut [f32],
        tokens: &[i32],
        lengths: &[usize],
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<()> {
        let (embedder, to, n_out) = (self.as_raw(), out.as_mut_ptr(), out.len());
        let (from, n, ends, n_texts) =
            (tokens.as_ptr(), tokens.len(), lengths.as_ptr(), lengths.len());
        watch(progress, |progress, e| unsafe {
            sys::ggufx_embed(to, n_out, embedder, from, n, ends, n_texts, progress, e)
        })
    }
    /// [`Embedder::embed_into`] of texts as they are, into a new vector.
    pub fn embed(&mut self, texts: &[&[i32]]) -> Result<Vec<f32>> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let context = self.info.n_context as usize;
        let rows = match self.info.pooling {
            Pooling::NONE => lengths.iter().map(|&n| n.min(context)).sum(),
            _ => lengths.len(),
        };
        let mut out = vec![0.0; rows * self.info.dimensions as usize];
        self.embed_into(&mut out, &texts.concat(), &lengths, None)?;
        Ok(out)
    }
}
