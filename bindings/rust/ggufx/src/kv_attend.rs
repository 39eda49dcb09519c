//! Attention over a cache, and its contents.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::sized;
use crate::kv::optional;
use crate::watch::{watch, Progress};
use crate::{AttendFlags, Kv, WindowKind};
use ggufx_sys as sys;

/// Options of attention; the default is causal.
#[derive(Default)]
pub struct AttendOptions<'a> {
    /// Flags.
    pub flags: AttendFlags,
    /// Scale of the scores; 0: 1 / sqrt(head_dim_k).
    pub scale: f32,
    /// 0: none.
    pub softcap: f32,
    /// Positions a query sees; 0: as the layer.
    pub window: u32,
    /// Kind of the window; None: sliding.
    pub window_kind: Option<WindowKind>,
    /// One per query head.
    pub alibi_slopes: Option<&'a [f32]>,
    /// One per query head.
    pub sink_logits: Option<&'a [f32]>,
    /// May cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

impl AttendOptions<'_> {
    fn run(
        self,
        call: impl FnOnce(*const sys::ggufx_attend_options, *mut sys::ggufx_error) -> i32,
    ) -> Result<()> {
        let mut raw = sized!(ggufx_attend_options);
        raw.flags = self.flags.0;
        raw.scale = self.scale;
        raw.softcap = self.softcap;
        raw.window = self.window;
        raw.window_kind = self.window_kind.map_or(0, |k| k.0);
        if let Some(slopes) = self.alibi_slopes {
            (raw.alibi_slopes, raw.n_alibi_slopes) = (slopes.as_ptr(), slopes.len());
        }
        if let Some(sinks) = self.sink_logits {
            (raw.sink_logits, raw.n_sink_logits) = (sinks.as_ptr(), sinks.len());
        }
        watch(self.progress, |progress, e| {
            raw.progress = progress;
            call(&raw, e)
        })
    }
}

fn lse_pointer(lse: Option<&mut [f32]>, n: usize) -> Result<*mut f32> {
    match lse {
        None => Ok(std::ptr::null_mut()),
        Some(s) if s.len() == n => Ok(s.as_mut_ptr()),
        Some(s) => Err(Error::argument(format!("lse of {} values, not {}", s.len(), n))),
    }
}

impl Kv {
    /// Attention of `n_queries` queries over a layer of a sequence; `lse` has a value per query
    /// and query head. Errors: `ARGUMENT`, `CANCELLED`, `MEMORY`.
    pub fn attend(
        &self,
        out: &mut [f32],
        lse: Option<&mut [f32]>,
        layer: u32,
        sequence: u32,
        q: &[f32],
        n_queries: usize,
        positions: Option<&[i32]>,
        options: AttendOptions<'_>,
    ) -> Result<()> {
        let lse = lse_pointer(lse, n_queries.saturating_mul(self.n_q_heads()))?;
        let at = optional(positions, n_queries, "positions")?;
        let (to, n_out, kv) = (out.as_mut_ptr(), out.len(), self.as_raw());
        let (q, n_q, n) = (q.as_ptr(), q.len(), n_queries);
        options.run(|o, e| unsafe {
            sys::ggufx_kv_attend(to, n_out, lse, kv, layer, sequence, q, n_q, n, at, o, e)
        })
    }
    /// One query of each of `sequences`, at its position.
    pub fn attend_batch(
        &self,
        out: &mut [f32],
        lse: Option<&mut [f32]>,
        layer: u32,
        sequences: &[u32],
        q: &[f32],
        positions: Option<&[i32]>,
        options: AttendOptions<'_>,
    ) -> Result<()> {
        let n = sequences.len();
        let lse = lse_pointer(lse, n.saturating_mul(self.n_q_heads()))?;
        let at = optional(positions, n, "positions")?;
        let (to, n_out, kv) = (out.as_mut_ptr(), out.len(), self.as_raw());
        let (q, n_q, sequences) = (q.as_ptr(), q.len(), sequences.as_ptr());
        options.run(|o, e| unsafe {
            sys::ggufx_kv_attend_batch(to, n_out, lse, kv, layer, sequences, q, n_q, n, at, o, e)
        })
    }
    /// Decode tokens `first .. first + n_tokens` of a layer; an empty buffer is not filled.
    pub fn read(
        &self,
        k: &mut [f32],
        v: &mut [f32],
        layer: u32,
        sequence: u32,
        first: u64,
        n_tokens: u64,
    ) -> Result<()> {
        let pointer = |s: &mut [f32]| if s.is_empty() { std::ptr::null_mut() } else { s.as_mut_ptr() };
        let (k, n_k, v, n_v) = (pointer(k), k.len(), pointer(v), v.len());
        let (kv, n) = (self.as_raw(), n_tokens);
        check(|e| unsafe {
            sys::ggufx_kv_read(k, n_k, v, n_v, kv, layer, sequence, first, n, e)
        })
    }
    /// Scores of queries against every token of a layer; `scale` 0: 1 / sqrt(head_dim_k).
    pub fn scores(
        &self,
        out: &mut [f32],
        layer: u32,
        sequence: u32,
        q: &[f32],
        n_queries: usize,
        scale: f32,
    ) -> Result<()> {
        let (to, n_out, kv) = (out.as_mut_ptr(), out.len(), self.as_raw());
        let (q, n_q, n) = (q.as_ptr(), q.len(), n_queries);
        check(|e| unsafe {
            sys::ggufx_kv_scores(to, n_out, kv, layer, sequence, q, n_q, n, scale, e)
        })
    }
}
