//! Sessions: decoding, and the attention that a hook looks at.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::{handle, items, sized};
use crate::keep::{Keep, List};
use crate::watch::{check, flow, guarded, watched};
use crate::{
    DecodeFlags, DecodeItem, DecodeOptions, LayerFacts, LayerFlags, Model, SessionOptions,
};
use ggufx_sys as sys;
use std::ops::ControlFlow;
use std::ptr::null_mut;

handle! {
    /// Sequences of tokens with their KV caches. Keeps its model alive.
    Session(ggufx_session, ggufx_session_destroy) {
        widths: Box<[[usize; 4]]> // of the layers' queries, keys, values, results
        n_vocab: usize
    }
}

/// Inputs and outputs of a layer's attention; see `ggufx_attention_hook`. `v` is empty if values
/// are part of the keys ([`LayerFlags::V_IN_K`]).
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct AttentionView<'a> {
    pub layer: u32,
    pub first_token: u64,
    pub n_tokens: usize,
    pub q: &'a [f32],
    pub k: &'a [f32],
    pub v: &'a [f32],
    pub out: &'a [f32],
}

/// A hook that looks at attention; `Break` ends the decode with `CANCELLED`.
pub type Attention<'a> = dyn FnMut(&AttentionView<'_>) -> ControlFlow<()> + 'a;

struct Shown<'a, 'w> {
    look: &'a mut Attention<'a>,
    widths: &'w [[usize; 4]],
}

unsafe extern "C" fn on_layer(
    user: *mut sys::c_void,
    layer: u32,
    first_token: u64,
    n_tokens: usize,
    q: *const f32,
    k: *const f32,
    v: *const f32,
    out: *const f32,
) -> i32 {
    let shown = &mut *user.cast::<Shown<'_, '_>>();
    let [n_q, n_k, n_v, n_out] = shown.widths[layer as usize].map(|n| n * n_tokens);
    let (q, k, v, out) = (items(q, n_q), items(k, n_k), items(v, n_v), items(out, n_out));
    let view = AttentionView { layer, first_token, n_tokens, q, k, v, out };
    guarded(sys::GGUFX_E_CANCELLED, || flow((shown.look)(&view)))
}

/// Values per token of queries, keys, values (none where they are part of the keys), results.
fn widths(layer: &LayerFacts<'_>) -> [usize; 4] {
    let of = |heads: u32, dim: u32| heads as usize * dim as usize;
    let own_v = !layer.flags.contains(LayerFlags::V_IN_K);
    let v = if own_v { of(layer.n_kv_heads, layer.head_dim_v) } else { 0 };
    let (q, k) = (of(layer.n_heads, layer.head_dim_k), of(layer.n_kv_heads, layer.head_dim_k));
    [q, k, v, of(layer.n_heads, layer.head_dim_v)]
}

impl<'a> DecodeItem<'a> {
    /// Tokens for a sequence.
    pub fn new(sequence: u32, tokens: &'a [i32], flags: DecodeFlags) -> Self {
        DecodeItem { sequence, flags, tokens, ..Default::default() }
    }
    /// Rows of logits that it gets.
    fn n_rows(&self) -> usize {
        match self.flags {
            flags if flags.contains(DecodeFlags::ALL_LOGITS) => {
                self.tokens.len().max(self.positions.len())
            }
            flags => flags.contains(DecodeFlags::LOGITS) as usize,
        }
    }
}

impl Session {
    /// A session with all its memory. Errors: those of `ggufx_session_create`.
    pub fn new(model: &Model, options: SessionOptions) -> Result<Self> {
        let (options, mut out) = (options.raw(), null_mut());
        check(|e| unsafe { sys::ggufx_session_create(&mut out, model.as_raw(), &options, e) })?;
        let mut session = Session::of_raw(out, Box::default(), 0);
        let info = model.info()?;
        session.widths =
            (0..info.n_layers).map(|i| Ok(widths(&model.layer_info(i)?))).collect::<Result<_>>()?;
        session.n_vocab = info.n_vocab as usize;
        Ok(session)
    }
    /// Append tokens to several sequences and compute the rows that the items want.
    /// Errors: `ARGUMENT`, `CAPACITY`, `CANCELLED`, `MEMORY`, `VALUE`.
    pub fn decode(&mut self, items: &[DecodeItem<'_>], options: DecodeOptions<'_>) -> Result<()> {
        self.decode_with(items, options, None)
    }
    /// [`Session::decode`] of one item with a hook that sees the attention of each layer.
    pub fn decode_with(
        &mut self,
        items: &[DecodeItem<'_>],
        options: DecodeOptions<'_>,
        attention: Option<&mut Attention<'_>>,
    ) -> Result<()> {
        let held = Keep::new();
        let items = unsafe { List::of(items.iter().map(|x| x.raw(&held))) }?;
        let mut raw = options.raw(&held)?;
        let mut shown = attention.map(|look| Shown { look, widths: &self.widths });
        let mut hook = sized!(ggufx_attention_hook);
        hook.layer = Some(on_layer);
        if let Some(shown) = &mut shown {
            hook.user = crate::keep::user_of(shown);
            raw.attention = &hook;
        }
        let session = self.as_raw();
        watched(|e| unsafe {
            sys::ggufx_session_decode(session, items.at(), items.len(), &raw, e)
        })
    }
    /// [`Session::decode`] with the rows of logits that the items want in a new vector.
    pub fn batch_logits(&mut self, items: &[DecodeItem<'_>]) -> Result<Vec<f32>> {
        let rows: usize = items.iter().map(DecodeItem::n_rows).sum();
        let mut logits = vec![0.0; rows * self.n_vocab];
        let options = DecodeOptions { logits: Some(&mut logits), ..Default::default() };
        self.decode(items, options)?;
        Ok(logits)
    }
}
