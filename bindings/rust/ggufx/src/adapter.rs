//! LoRA adapters and control vectors.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{create, handle, sized};
use crate::{AdapterKind, Embedder, File, Model, Session};
use ggufx_sys as sys;

handle! {
    /// LoRA adapter or control vector bound to a model. Immutable; keeps its file and the model
    /// alive.
    Adapter(ggufx_adapter, ggufx_adapter_destroy) sync
}

/// Layers that a control vector acts on; the default is all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdapterOptions {
    /// From this one on, counted from 0.
    pub first_layer: u32,
    /// Up to this one; 0: the last.
    pub last_layer: u32,
}

/// Facts of an adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdapterInfo {
    /// LoRA or control vector.
    pub kind: AdapterKind,
    /// Tensors of the model, or layers, that something is added to.
    pub n_targets: u32,
    /// Largest rank; 0 for a control vector.
    pub rank: u32,
    /// 0: none.
    pub alpha: f64,
    /// Equal for adapters with equal content and options.
    pub fingerprint: u64,
    /// Bytes from the allocator.
    pub memory_bytes: u64,
}

impl Adapter {
    /// Bind an adapter's file to a model. Errors: `MISMATCH` (the message names the tensor that
    /// does not fit), those of `ggufx_adapter_create`.
    pub fn new(model: &Model, file: &File, options: AdapterOptions) -> Result<Self> {
        let mut options_raw = sized!(ggufx_adapter_options);
        options_raw.first_layer = options.first_layer;
        options_raw.last_layer = options.last_layer;
        let raw = create(|out, e| unsafe {
            sys::ggufx_adapter_create(out, model.as_raw(), file.as_raw(), &options_raw, e)
        })?;
        Ok(Adapter { raw })
    }
    /// Facts of it.
    pub fn info(&self) -> Result<AdapterInfo> {
        let mut out = sized!(ggufx_adapter_facts);
        check(|e| unsafe { sys::ggufx_adapter_info(&mut out, self.as_raw(), e) })?;
        Ok(AdapterInfo {
            kind: AdapterKind(out.kind),
            n_targets: out.n_targets,
            rank: out.rank,
            alpha: out.alpha,
            fingerprint: out.fingerprint,
            memory_bytes: out.memory_bytes,
        })
    }
    /// Whether it adds something to a tensor of the model's file, by its number.
    pub fn has_tensor(&self, tensor: usize) -> bool {
        unsafe { sys::ggufx_adapter_has_tensor(self.as_raw(), tensor) == 1 }
    }
    /// Add to `n_rows` rows of a tensor of the model's file the adapter's delta, as when the
    /// adapter is merged into the model. Errors: `ARGUMENT`, `MEMORY`.
    pub fn add_rows(
        &self,
        rows: &mut [f32],
        tensor: usize,
        first_row: u64,
        n_rows: u64,
        scale: f32,
    ) -> Result<()> {
        let (to, n, adapter) = (rows.as_mut_ptr(), rows.len(), self.as_raw());
        check(|e| unsafe {
            sys::ggufx_adapter_add_rows(to, n, adapter, tensor, first_row, n_rows, scale, e)
        })
    }
}

fn raw_uses(uses: &[(&Adapter, f32)]) -> Vec<sys::ggufx_adapter_use> {
    uses.iter()
        .map(|&(adapter, scale)| sys::ggufx_adapter_use {
            adapter: adapter.as_raw(),
            scale,
            reserved: 0,
        })
        .collect()
}

impl Session {
    /// Let an empty sequence (`None`: all of them) use these adapters with their scales, in this
    /// order, instead of its previous ones. Errors: `ARGUMENT`, `MISMATCH` (another model's),
    /// `STATE`.
    pub fn set_adapters(&mut self, sequence: Option<u32>, uses: &[(&Adapter, f32)]) -> Result<()> {
        let to = sequence.unwrap_or(sys::GGUFX_ADAPTER_ALL_SEQUENCES);
        let (session, list) = (self.as_raw(), raw_uses(uses));
        check(|e| unsafe {
            sys::ggufx_session_set_adapters(session, to, list.as_ptr(), list.len(), e)
        })
    }
}

impl Embedder {
    /// Set the adapters and their scales for all inputs from now on, in this order.
    pub fn set_adapters(&mut self, uses: &[(&Adapter, f32)]) -> Result<()> {
        let (embedder, list) = (self.as_raw(), raw_uses(uses));
        check(|e| unsafe {
            sys::ggufx_embedder_set_adapters(embedder, list.as_ptr(), list.len(), e)
        })
    }
}
