//! Weights bound to a graph.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Result};
use crate::handle::{create, handle, sized};
use crate::tokenizer::grow;
use crate::types::c_string;
use crate::watch::{watch, Progress};
use crate::{File, LayerFlags, LayerKind, ModelFlags, Runtime};
use ggufx_sys as sys;
use std::ffi::CString;
use std::marker::PhantomData;
use std::ptr::{null_mut, NonNull};

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
    /// Whether it predicts tokens, and how it makes embeddings.
    pub flags: ModelFlags,
}

/// Options of a model; the default is all unset.
#[derive(Default)]
pub struct ModelOptions<'a> {
    /// Keys of the file as if they had other values: `("llama.rope.freq_base", "50000")`.
    pub overrides: &'a [(&'a str, &'a str)],
    /// Sees layers, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

/// Facts of a layer; see `ggufx_layer_facts`.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct LayerInfo<'m> {
    pub kind: LayerKind,
    pub flags: LayerFlags,
    pub n_heads: u32,
    pub n_kv_heads: u32,
    pub head_dim_k: u32,
    pub head_dim_v: u32,
    /// Tokens it sees; 0: all.
    pub window: u32,
    /// Layer whose keys and values it reads, usually its own.
    pub reads_layer: u32,
    pub scale: f32,
    pub softcap: f32,
    /// State of a recurrent layer, per sequence.
    pub state_bytes: u64,
    /// A logit per head, or none.
    pub sinks: &'m [f32],
    model: PhantomData<&'m Model>,
}

impl LayerInfo<'_> {
    /// Values per token of queries, keys, values (none where they are part of the keys), results.
    pub(crate) fn widths(&self) -> [usize; 4] {
        let of = |heads: u32, dim: u32| heads as usize * dim as usize;
        let own_v = !self.flags.contains(LayerFlags::V_IN_K);
        let v = if own_v { of(self.n_kv_heads, self.head_dim_v) } else { 0 };
        let (q, k) = (of(self.n_heads, self.head_dim_k), of(self.n_kv_heads, self.head_dim_k));
        [q, k, v, of(self.n_heads, self.head_dim_v)]
    }
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
    /// [`Model::new`] with options. Errors: those of `ggufx_model_create`.
    pub fn new_with(rt: &Runtime, file: &File, options: ModelOptions<'_>) -> Result<Self> {
        let mut texts: Vec<(CString, CString)> = Vec::with_capacity(options.overrides.len());
        for (key, value) in options.overrides {
            texts.push((c_string(key)?, c_string(value)?));
        }
        let list: Vec<_> = texts
            .iter()
            .map(|(key, value)| sys::ggufx_model_override {
                key: key.as_ptr().cast(),
                value: value.as_ptr().cast(),
            })
            .collect();
        let mut raw = sized!(ggufx_model_options);
        (raw.overrides, raw.n_overrides) = (list.as_ptr(), list.len());
        let mut out = null_mut();
        watch(options.progress, |progress, e| {
            raw.progress = progress;
            unsafe { sys::ggufx_model_create(&mut out, rt.as_raw(), file.as_raw(), &raw, e) }
        })?;
        // SAFETY: set by every successful call.
        Ok(Model { raw: unsafe { NonNull::new_unchecked(out) } })
    }
    /// Describe a layer. Errors: `ARGUMENT`.
    pub fn layer(&self, layer: u32) -> Result<LayerInfo<'_>> {
        let mut out = sized!(ggufx_layer_facts);
        check(|e| unsafe { sys::ggufx_model_layer(&mut out, self.as_raw(), layer, e) })?;
        let sinks = if out.sinks.is_null() {
            &[]
        } else {
            // SAFETY: a logit per head that lives as long as the model.
            unsafe { std::slice::from_raw_parts(out.sinks, out.n_heads as usize) }
        };
        Ok(LayerInfo {
            kind: LayerKind(out.kind),
            flags: LayerFlags(out.flags),
            n_heads: out.n_heads,
            n_kv_heads: out.n_kv_heads,
            head_dim_k: out.head_dim_k,
            head_dim_v: out.head_dim_v,
            window: out.window,
            reads_layer: out.reads_layer,
            scale: out.scale,
            softcap: out.softcap,
            state_bytes: out.state_bytes,
            sinks,
            model: PhantomData,
        })
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
            flags: ModelFlags(out.flags),
        })
    }
}

impl File {
    /// Readable description of the model's graph: one line per operation. Errors: those of
    /// `ggufx_model_create`.
    pub fn graph(&self) -> Result<String> {
        let text = grow(4096, |out: &mut Vec<u8>, needed, e| unsafe {
            sys::ggufx_file_graph(out.as_mut_ptr().cast(), out.len(), needed, self.as_raw(), e)
        })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
