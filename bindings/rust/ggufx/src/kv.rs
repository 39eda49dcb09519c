//! Attention over a KV cache.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::handle;
use crate::keep::{exactly, optional, optional_mut, Keep};
use crate::watch::{check, watched};
use crate::{AttendOptions, KvOptions, Runtime};
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
    /// Attention of `n_queries` queries over a layer of a sequence; `lse` has a value per query
    /// and query head. Errors: `ARGUMENT`, `CANCELLED`, `MEMORY`.
    pub fn attend(
        &self,
        out: &mut [f32],
        mut lse: Option<&mut [f32]>,
        layer: u32,
        sequence: u32,
        q: &[f32],
        n_queries: usize,
        positions: Option<&[i32]>,
        options: AttendOptions<'_>,
    ) -> Result<()> {
        let (held, n) = (Keep::new(), n_queries);
        exactly("lse", lse.as_deref().map(<[_]>::len), (n as u64).saturating_mul(self.n_q_heads))?;
        exactly("positions", positions.map(<[_]>::len), n as u64)?;
        let (raw, lse, at) = (options.raw(&held)?, optional_mut(&mut lse), optional(positions));
        let (to, n_out, kv, q, n_q) =
            (out.as_mut_ptr(), out.len(), self.as_raw(), q.as_ptr(), q.len());
        watched(|e| unsafe {
            sys::ggufx_kv_attend(to, n_out, lse, kv, layer, sequence, q, n_q, n, at, &raw, e)
        })
    }
    /// One query of each of `sequences`, at its position.
    pub fn attend_batch(
        &self,
        out: &mut [f32],
        mut lse: Option<&mut [f32]>,
        layer: u32,
        sequences: &[u32],
        q: &[f32],
        positions: Option<&[i32]>,
        options: AttendOptions<'_>,
    ) -> Result<()> {
        let (held, n) = (Keep::new(), sequences.len());
        exactly("lse", lse.as_deref().map(<[_]>::len), (n as u64).saturating_mul(self.n_q_heads))?;
        exactly("positions", positions.map(<[_]>::len), n as u64)?;
        let (raw, lse, at) = (options.raw(&held)?, optional_mut(&mut lse), optional(positions));
        let (to, n_out, kv, q, n_q) =
            (out.as_mut_ptr(), out.len(), self.as_raw(), q.as_ptr(), q.len());
        let sequences = sequences.as_ptr();
        watched(|e| unsafe {
            sys::ggufx_kv_attend_batch(to, n_out, lse, kv, layer, sequences, q, n_q, n, at, &raw, e)
        })
    }
}
