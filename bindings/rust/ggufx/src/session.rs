//! Sessions, and the perplexity of a text.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{create, handle, size, sized};
use crate::watch::{guarded, rethrow, stop_code, watch, Panic, Progress};
use crate::{DecodeFlags, KvType, MatmulFlags, Model};
use ggufx_sys as sys;
use std::ops::ControlFlow;
use std::ptr::null;

mod raw {
    use super::*;
    handle! {
        /// One C session.
        Handle(ggufx_session, ggufx_session_destroy) sync
    }
    impl Handle {
        pub fn new(raw: std::ptr::NonNull<sys::ggufx_session>) -> Self {
            Handle { raw }
        }
    }
}

/// A conversation: its cache, position and last logits; or `n_sequences` of them. Keeps its model
/// alive.
#[derive(Debug)]
pub struct Session {
    handle: raw::Handle,
    widths: Box<[[usize; 4]]>, // of the layers' queries, keys, values, results
    pub(crate) n_vocab: usize,
}

/// Options of a session; 0 and None are defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionOptions {
    /// Tokens at most; 0: the trained context, 8192 where that is more.
    pub n_context: u32,
    /// Tokens computed at once; 0: 512.
    pub n_batch: u32,
    /// Type in the cache.
    pub type_k: Option<KvType>,
    /// Type in the cache.
    pub type_v: Option<KvType>,
    /// Matmul flags.
    pub matmul_flags: MatmulFlags,
    /// States of recurrent layers kept for [`Session::truncate`]; None: 8.
    pub n_checkpoints: Option<u32>,
    /// Conversations, each of `n_context` tokens; 0: 1.
    pub n_sequences: u32,
    /// Total tokens of the sequences' shared memory; 0: each has its own.
    pub n_context_total: u64,
}

pub(crate) fn checkpoints(n: Option<u32>) -> u32 {
    match n {
        Some(0) => sys::GGUFX_SESSION_NO_CHECKPOINTS,
        n => n.unwrap_or(0),
    }
}

/// Options of a session with defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SessionInfo {
    pub n_context: u32,
    pub n_batch: u32,
    pub type_k: KvType,
    pub type_v: KvType,
    pub n_sequences: u32,
    pub n_context_total: u64,
}

/// Inputs and outputs of a layer's attention; see `ggufx_attention_hook`. `v` is empty if values
/// are part of the keys ([`crate::LayerFlags::V_IN_K`]).
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

/// How tokens are decoded; the default is all unset.
#[derive(Default)]
pub struct DecodeOptions<'a> {
    /// Filled with the logits of every token, `[n_tokens][n_vocab]`.
    pub all_logits: Option<&'a mut [f32]>,
    /// Sees tokens, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
    /// Sees the attention of each layer.
    pub attention: Option<&'a mut Attention<'a>>,
}

struct Shown<'a, 'w> {
    hook: Option<&'a mut Attention<'a>>,
    widths: &'w [[usize; 4]],
    panic: Panic,
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
    let widths = shown.widths[layer as usize];
    let floats = |p: *const f32, width: usize| match width {
        0 => &[],
        _ => std::slice::from_raw_parts(p, n_tokens * width),
    };
    let view = AttentionView {
        layer,
        first_token,
        n_tokens,
        q: floats(q, widths[0]),
        k: floats(k, widths[1]),
        v: floats(v, widths[2]),
        out: floats(out, widths[3]),
    };
    let hook = &mut shown.hook;
    guarded(&mut shown.panic, 1, || hook.as_mut().map_or(0, |hook| stop_code(hook(&view))))
}

impl Session {
    /// A session with all its memory. Errors: `ARGUMENT`, `MEMORY`, `TYPE`.
    pub fn new(model: &Model, options: SessionOptions) -> Result<Self> {
        let mut options_raw = sized!(ggufx_session_options);
        options_raw.n_context = options.n_context;
        options_raw.n_batch = options.n_batch;
        options_raw.type_k = options.type_k.map_or(0, |t| t.0);
        options_raw.type_v = options.type_v.map_or(0, |t| t.0);
        options_raw.matmul_flags = options.matmul_flags.0;
        options_raw.n_checkpoints = checkpoints(options.n_checkpoints);
        options_raw.n_sequences = options.n_sequences;
        options_raw.n_context_total = options.n_context_total;
        let info = model.info()?;
        let widths = (0..info.n_layers).map(|layer| Ok(model.layer(layer)?.widths()));
        let widths = widths.collect::<Result<_>>()?;
        let handle = create(|out, e| unsafe {
            sys::ggufx_session_create(out, model.as_raw(), &options_raw, e)
        })?;
        Ok(Session { handle: raw::Handle::new(handle), widths, n_vocab: info.n_vocab as usize })
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *mut sys::ggufx_session {
        self.handle.as_raw()
    }
    /// Options with defaults filled in.
    pub fn info(&self) -> Result<SessionInfo> {
        let mut out = sized!(ggufx_session_facts);
        check(|e| unsafe { sys::ggufx_session_info(&mut out, self.as_raw(), e) })?;
        Ok(SessionInfo {
            n_context: out.n_context,
            n_batch: out.n_batch,
            type_k: KvType(out.type_k),
            type_v: KvType(out.type_v),
            n_sequences: out.n_sequences,
            n_context_total: out.n_context_total,
        })
    }
    /// Append tokens and compute the logits after the last one.
    pub fn decode(&mut self, tokens: &[i32]) -> Result<()> {
        let (raw, session) = (sized!(ggufx_decode_options), self.as_raw());
        check(|e| unsafe {
            sys::ggufx_session_decode(session, tokens.as_ptr(), tokens.len(), &raw, e)
        })
    }
    /// [`Session::decode`] with options.
    /// Errors: `ARGUMENT`, `CAPACITY`, `CANCELLED`, `VALUE`.
    pub fn decode_with(
        &mut self,
        tokens: &[i32],
        options: DecodeOptions<'_>,
    ) -> Result<()> {
        let mut raw = sized!(ggufx_decode_options);
        if let Some(logits) = options.all_logits {
            raw.flags = DecodeFlags::ALL_LOGITS.0;
            (raw.logits, raw.n_logits) = (logits.as_mut_ptr(), logits.len());
        }
        let session = self.as_raw();
        let mut shown = Shown { hook: options.attention, widths: &self.widths, panic: None };
        let hook = sys::ggufx_attention_hook {
            struct_size: size::<sys::ggufx_attention_hook>(),
            flags: 0,
            next: null(),
            user: (&mut shown as *mut Shown<'_, '_>).cast(),
            layer: Some(on_layer),
        };
        if shown.hook.is_some() {
            raw.attention = &hook;
        }
        let result = watch(options.progress, |progress, e| unsafe {
            raw.progress = progress;
            sys::ggufx_session_decode(session, tokens.as_ptr(), tokens.len(), &raw, e)
        });
        rethrow(shown.panic);
        result
    }
    /// The logits after the last token: `n_vocab` floats. Errors: `ARGUMENT`, `STATE`.
    pub fn logits(&self, out: &mut [f32]) -> Result<()> {
        let (to, n) = (out.as_mut_ptr(), out.len());
        check(|e| unsafe { sys::ggufx_session_logits(to, n, self.as_raw(), e) })
    }
    /// Tokens in the conversation.
    pub fn length(&self) -> u64 {
        unsafe { sys::ggufx_session_length(self.as_raw()) }
    }
    /// Keep the first `n_tokens`; the logits are gone until the next decode.
    pub fn truncate(&mut self, n_tokens: u64) -> Result<()> {
        check(|e| unsafe { sys::ggufx_session_truncate(self.as_raw(), n_tokens, e) })
    }
    /// Perplexity of tokens in chunks of `n_context`; `report` sees the running result and may
    /// stop. The session must be empty; it is empty again afterwards.
    pub fn perplexity(
        &mut self,
        tokens: &[i32],
        n_context: u32,
        bos: Option<i32>,
        report: &mut dyn FnMut(&Perplexity) -> ControlFlow<()>,
    ) -> Result<Perplexity> {
        let mut state = Scoring { report, panic: None };
        let user = (&mut state as *mut Scoring<'_>).cast();
        let mut out = sized!(ggufx_perplexity_facts);
        let (session, from, n) = (self.as_raw(), tokens.as_ptr(), tokens.len());
        let (bos, on) = (bos.unwrap_or(-1), Some(on_chunk as _));
        let result = check(|e| unsafe {
            sys::ggufx_perplexity(&mut out, session, from, n, n_context, bos, on, user, e)
        });
        rethrow(state.panic);
        result.map(|()| out)
    }
}

/// Result of [`Session::perplexity`]; see `ggufx_perplexity_facts`.
pub type Perplexity = sys::ggufx_perplexity_facts;

struct Scoring<'a> {
    report: &'a mut dyn FnMut(&Perplexity) -> ControlFlow<()>,
    panic: Panic,
}
unsafe extern "C" fn on_chunk(user: *mut sys::c_void, running: *const Perplexity) -> i32 {
    let state = &mut *user.cast::<Scoring<'_>>();
    let report = &mut state.report;
    guarded(&mut state.panic, 1, || stop_code(report(&*running)))
}
