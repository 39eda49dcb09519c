//! Weights bound to a graph.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Result};
use crate::handle::{create, handle, sized};
use crate::{File, Runtime};
use ggufx_sys as sys;

handle! {
    /// A model, immutable; keeps its file alive. No weight is copied.
    Model(ggufx_model, ggufx_model_destroy) sync
}

/// Facts of a model.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ModelInfo {
    pub architecture: &'static str,
    pub n_parameters: u64,
    pub weight_bytes: u64,
    pub n_vocab: u32,
    /// Trained context.
    pub n_context: u32,
    pub n_embedding: u32,
    pub n_layers: u32,
    pub n_heads: u32,
    pub n_kv_heads: u32,
    pub head_dim: u32,
}

impl Model {
    /// Bind a file to the graph of its architecture. Errors: those of `ggufx_model_create`.
    pub fn new(rt: &Runtime, file: &File) -> Result<Self> {
        let options = sized!(ggufx_model_options);
        let raw = create(|out, e| unsafe {
            sys::ggufx_model_create(out, rt.as_raw(), file.as_raw(), &options, e)
        })?;
        Ok(Model { raw })
    }
    /// Describe it.
    pub fn info(&self) -> Result<ModelInfo> {
        let mut out = sized!(ggufx_model_facts);
        check(|e| unsafe { sys::ggufx_model_info(&mut out, self.as_raw(), e) })?;
        Ok(ModelInfo {
            architecture: unsafe { forever(out.architecture) },
            n_parameters: out.n_parameters,
            weight_bytes: out.weight_bytes,
            n_vocab: out.n_vocab,
            n_context: out.n_context,
            n_embedding: out.n_embedding,
            n_layers: out.n_layers,
            n_heads: out.n_heads,
            n_kv_heads: out.n_kv_heads,
            head_dim: out.head_dim,
        })
    }
}
