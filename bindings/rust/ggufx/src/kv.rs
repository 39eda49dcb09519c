//! The KV cache.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::{create, handle, sized};
use crate::watch::{watch, Progress};
use crate::{HalfFormat, KvFlags, KvType, RopeStyle, Runtime};
use ggufx_sys as sys;

mod raw {
    use super::*;
    handle! {
        /// One C cache.
        Handle(ggufx_kv, ggufx_kv_destroy) sync
    }
    impl Handle {
        pub fn new(raw: std::ptr::NonNull<sys::ggufx_kv>) -> Self {
            Handle { raw }
        }
    }
}

/// Keys and values of layers and sequences, and attention over them.
#[derive(Debug)]
pub struct Kv {
    handle: raw::Handle,
    n_q_heads: usize,
}

/// For every sequence.
pub const ALL_SEQUENCES: u32 = sys::GGUFX_KV_ALL_SEQUENCES;
/// For every layer.
pub const ALL_LAYERS: u32 = sys::GGUFX_KV_ALL_LAYERS;

/// Settings that differ per layer.
pub type KvLayer = sys::ggufx_kv_layer;
/// Facts of a layer or cache; see `ggufx_kv_facts`.
pub type KvStats = sys::ggufx_kv_facts;

/// Shape and types of a cache; 0 and None are defaults.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct KvOptions<'a> {
    pub flags: KvFlags,
    pub n_layers: u32,
    pub n_kv_heads: u32,
    pub n_q_heads: u32,
    pub head_dim_k: u32,
    pub head_dim_v: u32,
    pub type_k: Option<KvType>,
    pub type_v: Option<KvType>,
    pub n_sequences: u32,
    pub max_tokens: u64,
    /// First tokens kept as F16 (BF16: as F32); None: 64.
    pub n_sinks: Option<u32>,
    pub rope_style: Option<RopeStyle>,
    pub rope_dims: u32,
    pub rope_base: f32,
    pub rope_scale: f32,
    /// RoPE frequencies in radians per position, instead of base and scale; empty: those.
    pub rope_frequencies: &'a [f64],
    /// Empty, or one per layer.
    pub layers: &'a [KvLayer],
    /// A number of the caller's; snapshots of another one are refused.
    pub model: u64,
}

impl KvOptions<'_> {
    fn raw(&self) -> sys::ggufx_kv_options {
        let mut raw = sized!(ggufx_kv_options);
        raw.flags = self.flags.0;
        raw.n_layers = self.n_layers;
        raw.n_kv_heads = self.n_kv_heads;
        raw.n_q_heads = self.n_q_heads;
        raw.head_dim_k = self.head_dim_k;
        raw.head_dim_v = self.head_dim_v;
        raw.type_k = self.type_k.map_or(0, |t| t.0);
        raw.type_v = self.type_v.map_or(0, |t| t.0);
        raw.n_sequences = self.n_sequences;
        raw.max_tokens = self.max_tokens;
        raw.n_sinks = match self.n_sinks {
            None => 0,
            Some(0) => sys::GGUFX_KV_NO_SINKS,
            Some(n) => n,
        };
        raw.rope_style = self.rope_style.map_or(0, |s| s.0);
        raw.rope_dims = self.rope_dims;
        raw.rope_base = self.rope_base;
        raw.rope_scale = self.rope_scale;
        raw.n_rope_frequencies = self.rope_frequencies.len();
        if !self.rope_frequencies.is_empty() {
            raw.rope_frequencies = self.rope_frequencies.as_ptr();
        }
        raw.n_layer_options = self.layers.len() as u32;
        if !self.layers.is_empty() {
            raw.layers = self.layers.as_ptr();
        }
        raw.model = self.model;
        raw
    }
    /// Memory of such a cache in bytes, with `n_tokens` reserved in every sequence.
    pub fn estimate(&self, rt: &Runtime, n_tokens: u64) -> Result<u64> {
        let (raw, mut out) = (self.raw(), 0);
        check(|e| unsafe { sys::ggufx_kv_estimate(&mut out, rt.as_raw(), &raw, n_tokens, e) })?;
        Ok(out)
    }
}

/// A pointer for C: NULL where there is nothing; `n` is what must be there.
pub(crate) fn optional<T>(slice: Option<&[T]>, n: usize, what: &str) -> Result<*const T> {
    match slice {
        None => Ok(std::ptr::null()),
        Some(s) if s.len() == n => Ok(s.as_ptr()),
        Some(s) => Err(Error::argument(format!("{} {}, not {}", s.len(), what, n))),
    }
}

impl Kv {
    /// An empty cache. Errors: `ARGUMENT`, `MEMORY`, `TYPE`.
    pub fn new(rt: &Runtime, options: &KvOptions<'_>) -> Result<Self> {
        let raw = options.raw();
        let handle = create(|out, e| unsafe { sys::ggufx_kv_create(out, rt.as_raw(), &raw, e) })?;
        Ok(Kv { handle: raw::Handle::new(handle), n_q_heads: options.n_q_heads as usize })
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *mut sys::ggufx_kv {
        self.handle.as_raw()
    }
    pub(crate) fn n_q_heads(&self) -> usize {
        self.n_q_heads
    }
    /// Reserve all pages for `n_tokens` of a sequence.
    pub fn reserve(&mut self, sequence: u32, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_reserve(self.as_raw(), sequence, n_tokens, e) })
    }
    /// Append `n_tokens` tokens to a layer of a sequence, all or nothing; `v` is empty when values
    /// are part of the keys. Errors: `ARGUMENT`, `VALUE`, `CAPACITY`, `MEMORY`.
    pub fn append(
        &mut self,
        layer: u32,
        sequence: u32,
        n_tokens: usize,
        positions: Option<&[i32]>,
        k: &[f32],
        v: &[f32],
    ) -> Result<()> {
        let at = optional(positions, n_tokens, "positions")?;
        let v_ptr = if v.is_empty() { std::ptr::null() } else { v.as_ptr() };
        let (kv, n) = (self.as_raw(), n_tokens);
        check(|e| unsafe {
            sys::ggufx_kv_append(
                kv, layer, sequence, n, at, k.as_ptr(), k.len(), v_ptr, v.len(), e,
            )
        })
    }
    /// As [`Kv::append`], from values of 16 bits.
    pub fn append_half(
        &mut self,
        layer: u32,
        sequence: u32,
        n_tokens: usize,
        positions: Option<&[i32]>,
        format: HalfFormat,
        k: &[u16],
        v: &[u16],
    ) -> Result<()> {
        let at = optional(positions, n_tokens, "positions")?;
        let v_ptr = if v.is_empty() { std::ptr::null() } else { v.as_ptr() };
        let (kv, n) = (self.as_raw(), n_tokens);
        check(|e| unsafe {
            sys::ggufx_kv_append_half(
                kv, layer, sequence, n, at, format.0, k.as_ptr(), k.len(), v_ptr, v.len(), e,
            )
        })
    }
    /// Append a token to each of `sequences` at its position, all or nothing.
    pub fn append_batch(
        &mut self,
        layer: u32,
        sequences: &[u32],
        positions: &[i32],
        k: &[f32],
        v: &[f32],
    ) -> Result<()> {
        let at = optional(Some(positions), sequences.len(), "positions")?;
        let v_ptr = if v.is_empty() { std::ptr::null() } else { v.as_ptr() };
        let (kv, n) = (self.as_raw(), sequences.len());
        check(|e| unsafe {
            sys::ggufx_kv_append_batch(
                kv, layer, n, sequences.as_ptr(), at, k.as_ptr(), k.len(), v_ptr, v.len(), e,
            )
        })
    }
    /// Tokens of a sequence.
    pub fn length(&self, sequence: u32) -> Result<u64> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_kv_length(&mut out, self.as_raw(), sequence, e) })?;
        Ok(out)
    }
    /// Positions of tokens `first ..` of a sequence.
    pub fn positions(&self, sequence: u32, first: u64, out: &mut [i32]) -> Result<()> {
        let (to, n) = (out.as_mut_ptr(), out.len() as u64);
        check(|e| unsafe { sys::ggufx_kv_positions(to, self.as_raw(), sequence, first, n, e) })
    }
    /// Keep the first `n_tokens` of a sequence.
    pub fn truncate(&mut self, sequence: u32, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_truncate(self.as_raw(), sequence, n_tokens, e) })
    }
    /// Begin a transaction: `rollback` undoes all appends until `commit`.
    pub fn begin(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_begin(self.as_raw(), sequence, e) })
    }
    /// Commits the appended tokens; ends the call.
    pub fn commit(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_commit(self.as_raw(), sequence, e) })
    }
    /// Roll back to `begin`, or truncate all layers to the shortest one.
    pub fn rollback(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_rollback(self.as_raw(), sequence, e) })
    }
    /// Remove the tokens at a range of positions.
    pub fn remove(&mut self, sequence: u32, at: std::ops::Range<i32>) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_remove(self.as_raw(), sequence, at.start, at.end, e) })
    }
    /// Copy tokens of another sequence into an empty one.
    pub fn copy(&mut self, from: u32, to: u32, at: std::ops::Range<i32>) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_copy(self.as_raw(), from, to, at.start, at.end, e) })
    }
    /// Add `delta` to a range of positions.
    pub fn shift(&mut self, sequence: u32, at: std::ops::Range<i32>, delta: i32) -> Result<()> {
        let (kv, p0, p1) = (self.as_raw(), at.start, at.end);
        check(|e| unsafe { sys::ggufx_kv_shift(kv, sequence, p0, p1, delta, e) })
    }
    /// Drop all sequences but one.
    pub fn keep(&mut self, sequence: u32) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_keep(self.as_raw(), sequence, e) })
    }
    /// Drop all tokens.
    pub fn clear(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_kv_clear(self.as_raw(), e) })
    }
    /// Set the means and equalisers of a layer; `mu_k` and `eq_k` have one length.
    pub fn calibrate(
        &mut self,
        layer: u32,
        mu_k: Option<&[f32]>,
        eq_k: Option<&[f32]>,
        mu_v: Option<&[f32]>,
    ) -> Result<()> {
        let n_k = mu_k.or(eq_k).map_or(0, <[f32]>::len);
        let n_v = mu_v.map_or(0, <[f32]>::len);
        let (mu, eq) = (optional(mu_k, n_k, "means")?, optional(eq_k, n_k, "equalisers")?);
        let (kv, mu_v) = (self.as_raw(), optional(mu_v, n_v, "means")?);
        check(|e| unsafe { sys::ggufx_kv_calibrate(kv, layer, mu, eq, n_k, mu_v, n_v, e) })
    }
    /// Requantize the keys and values of a layer, or of [`ALL_LAYERS`]; None: unchanged.
    pub fn requantize<'a>(
        &mut self,
        layer: u32,
        type_k: Option<KvType>,
        type_v: Option<KvType>,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<()> {
        let id = |t: Option<KvType>| t.map_or(sys::GGUFX_KV_KEEP_TYPE, |t| t.0);
        let kv = self.as_raw();
        watch(progress, |hook, e| unsafe {
            sys::ggufx_kv_requantize(kv, layer, id(type_k), id(type_v), hook, e)
        })
    }
    /// Make few pages of the parts of pages in a sequence, or in [`ALL_SEQUENCES`].
    pub fn compact<'a>(
        &mut self,
        sequence: u32,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<()> {
        let kv = self.as_raw();
        watch(progress, |hook, e| unsafe { sys::ggufx_kv_compact(kv, sequence, hook, e) })
    }
    /// Describe a layer, or the cache ([`ALL_LAYERS`]).
    pub fn stats(&self, layer: u32) -> Result<KvStats> {
        let mut out = sized!(ggufx_kv_facts);
        check(|e| unsafe { sys::ggufx_kv_stats(&mut out, self.as_raw(), layer, e) })?;
        Ok(out)
    }
}
