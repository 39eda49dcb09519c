//! How a KV cache is created.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::handle;
use crate::keep::Keep;
use crate::watch::check;
use crate::{KvOptions, Runtime};
use ggufx_sys as sys;
use std::ptr::null_mut;

handle! {
    /// Keys and values of layers and sequences, and attention over them.
    KvCache(ggufx_kv, ggufx_kv_destroy) {
        n_q_heads: u64
    }
}

/// For every sequence.
pub const ALL_SEQUENCES: u32 = sys::GGUFX_KV_ALL_SEQUENCES;
/// For every layer.
pub const ALL_LAYERS: u32 = sys::GGUFX_KV_ALL_LAYERS;

impl KvCache {
    /// An empty cache. Errors: `ARGUMENT`, `MEMORY`, `TYPE`.
    pub fn new(rt: &Runtime, options: KvOptions<'_>) -> Result<Self> {
        let (held, mut out) = (Keep::new(), null_mut());
        let raw = options.raw(&held)?;
        check(|e| unsafe { sys::ggufx_kv_create(&mut out, rt.as_raw(), &raw, e) })?;
        Ok(KvCache::of_raw(out, options.n_q_heads.into()))
    }
}
