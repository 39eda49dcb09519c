//! Many conversations in one session.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::file::path_string;
use crate::handle::{size, sized};
use crate::kv_snapshot::{loaded, saved};
use crate::watch::{watch, Progress};
use crate::{MatmulFlags, Session};
use ggufx_sys as sys;
use std::io::{Read, Write};
use std::marker::PhantomData;
use std::path::Path;

/// Which logits of an item are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Want {
    /// No row.
    None,
    /// One row: the logits after its last token.
    #[default]
    Last,
    /// A row for each of its tokens.
    All,
}

/// Tokens to append to a sequence, or rows in their place.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct BatchItem<'a> {
    raw: sys::ggufx_batch_item,
    tokens: PhantomData<&'a [i32]>,
}
// SAFETY: it represents slices of numbers and plain numbers.
unsafe impl Send for BatchItem<'_> {}
unsafe impl Sync for BatchItem<'_> {}

impl<'a> BatchItem<'a> {
    /// Tokens for a sequence, another one in each item of a call, and the logits that are wanted.
    pub fn new(sequence: u32, tokens: &'a [i32], want: Want) -> Self {
        // SAFETY: numbers and pointers may be zero.
        let mut raw: sys::ggufx_batch_item = unsafe { std::mem::zeroed() };
        (raw.sequence, raw.flags) = (sequence, logits_flags(want));
        (raw.tokens, raw.n_tokens) = (tokens.as_ptr(), tokens.len());
        BatchItem { raw, tokens: PhantomData }
    }
    /// `n_tokens` rows of `n_embedding` floats each as the first layer's input, instead of tokens.
    pub fn of_rows(sequence: u32, n_tokens: usize, rows: &'a [f32], want: Want) -> Self {
        let mut item = BatchItem::new(sequence, &[], want);
        (item.raw.tokens, item.raw.n_tokens) = (std::ptr::null(), n_tokens);
        item.with_rows(rows)
    }
    /// Embedding rows for the first layer instead of those of the tokens. The tokens still count
    /// where a model looks them up elsewhere.
    pub fn with_rows(mut self, rows: &'a [f32]) -> Self {
        (self.raw.embeddings, self.raw.n_embeddings) = (rows.as_ptr(), rows.len());
        self
    }
    /// Positions in the sequence, ascending, one per token. Errors: `ARGUMENT` (another number).
    pub fn at(mut self, positions: &'a [i32]) -> Result<Self> {
        if positions.len() != self.raw.n_tokens {
            return Err(Error::argument("as many positions as tokens are needed"));
        }
        self.raw.positions = positions.as_ptr();
        Ok(self)
    }
    /// Hidden states to return, those after the last norm.
    pub fn hidden(mut self, want: Want) -> Self {
        self.raw.flags &= !(sys::GGUFX_BATCH_EMBED | sys::GGUFX_BATCH_ALL_EMBED);
        self.raw.flags |= match want {
            Want::None => 0,
            Want::Last => sys::GGUFX_BATCH_EMBED,
            Want::All => sys::GGUFX_BATCH_ALL_EMBED,
        };
        self
    }
    /// Sets a checkpoint: truncation and copies can return to the end of these tokens without
    /// recomputation.
    pub fn mark(mut self) -> Self {
        self.raw.flags |= sys::GGUFX_BATCH_MARK;
        self
    }
    /// Rows of logits that it gets.
    pub fn n_rows(&self) -> usize {
        self.rows(sys::GGUFX_BATCH_LOGITS, sys::GGUFX_BATCH_ALL_LOGITS)
    }
    /// Hidden states that it gets.
    pub fn n_hidden(&self) -> usize {
        self.rows(sys::GGUFX_BATCH_EMBED, sys::GGUFX_BATCH_ALL_EMBED)
    }
    fn rows(&self, last: u32, all: u32) -> usize {
        match self.raw.flags {
            flags if flags & all != 0 => self.raw.n_tokens,
            flags if flags & last != 0 => 1,
            _ => 0,
        }
    }
}

fn logits_flags(want: Want) -> u32 {
    match want {
        Want::None => 0,
        Want::Last => sys::GGUFX_BATCH_LOGITS,
        Want::All => sys::GGUFX_BATCH_ALL_LOGITS,
    }
}

/// How a batch is decoded; the default is all unset.
#[derive(Default)]
pub struct BatchOptions<'a> {
    /// Matmul flags of this call; None: the session's.
    pub matmul_flags: Option<MatmulFlags>,
    /// Filled with the hidden states that the items want, `[n][n_embedding]`.
    pub hidden: Option<&'a mut [f32]>,
    /// Sees tokens, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

/// Memory of a session's KV caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    /// Taken for keys, values and states.
    pub cache_bytes: u64,
    /// Pages of 64 tokens of a layer, used or not; shared ones count once.
    pub n_pages: u64,
    /// References to pages that other sequences hold, too.
    pub n_shared_pages: u64,
    /// Sum over all sequences.
    pub n_tokens: u64,
    /// With `n_context_total`: for which memory is left, in whole pages.
    pub n_tokens_left: u64,
    /// Taken for rows that were given.
    pub embedded_bytes: u64,
}

/// Sequences `0 .. n_sequences`; methods without a number are about sequence 0.
impl Session {
    /// Append tokens to many sequences, all or nothing: the rows of logits that the items want, in
    /// their order, in a new vector.
    pub fn decode_batch(&mut self, items: &[BatchItem<'_>]) -> Result<Vec<f32>> {
        let rows: usize = items.iter().map(BatchItem::n_rows).sum();
        let mut logits = vec![0.0; rows * self.n_vocab];
        self.decode_batch_into(&mut logits, items, BatchOptions::default())?;
        Ok(logits)
    }
    /// [`Session::decode_batch`] into `[n_rows][n_vocab]` floats, with options.
    /// Errors: `ARGUMENT` and `CAPACITY` (index: the item), `CANCELLED`, `VALUE`.
    pub fn decode_batch_into(
        &mut self,
        logits: &mut [f32],
        items: &[BatchItem<'_>],
        options: BatchOptions<'_>,
    ) -> Result<()> {
        let mut raw = sized!(ggufx_batch_options);
        raw.item_size = size::<sys::ggufx_batch_item>();
        (raw.logits, raw.n_logits) = (logits.as_mut_ptr(), logits.len());
        if let Some(flags) = options.matmul_flags {
            (raw.flags, raw.matmul_flags) = (sys::GGUFX_BATCH_MATMUL, flags.0);
        }
        if let Some(hidden) = options.hidden {
            (raw.embeddings, raw.n_embeddings) = (hidden.as_mut_ptr(), hidden.len());
        }
        // `BatchItem` is transparent.
        let (session, from, n) = (self.as_raw(), items.as_ptr().cast(), items.len());
        watch(options.progress, |progress, e| unsafe {
            raw.progress = progress;
            sys::ggufx_session_decode_batch(session, from, n, &raw, e)
        })
    }
    /// Tokens of a sequence; 0 of one that there is not.
    pub fn sequence_length(&self, sequence: u32) -> u64 {
        unsafe { sys::ggufx_session_sequence_length(self.as_raw(), sequence) }
    }
    /// Keep the first `n_tokens` of a sequence.
    pub fn truncate_sequence(&mut self, sequence: u32, n_tokens: u64) -> Result<()> {
        let session = self.as_raw();
        check(|e| unsafe { sys::ggufx_session_sequence_truncate(session, sequence, n_tokens, e) })
    }
    /// Copy into an empty sequence the first `n_tokens` of another one; they share memory. Errors:
    /// `ARGUMENT`, `MEMORY`, `STATE`.
    pub fn copy_sequence(&mut self, from: u32, to: u32, n_tokens: u64) -> Result<()> {
        let session = self.as_raw();
        check(|e| unsafe { sys::ggufx_session_sequence_copy(session, from, to, n_tokens, e) })
    }
    /// Take tokens `first .. first + n_tokens` out; later tokens keep their positions and cache
    /// entries. Errors: `ARGUMENT`, `MEMORY`, `STATE`, `UNSUPPORTED`.
    pub fn remove_tokens(&mut self, sequence: u32, first: u64, n_tokens: u64) -> Result<()> {
        let session = self.as_raw();
        check(|e| unsafe {
            sys::ggufx_session_sequence_remove(session, sequence, first, n_tokens, e)
        })
    }
    /// Add `delta` to positions of tokens `first .. first + n_tokens`. Errors: `ARGUMENT`, `MEMORY`,
    /// `STATE`, `UNSUPPORTED`.
    pub fn shift_tokens(
        &mut self,
        sequence: u32,
        first: u64,
        n_tokens: u64,
        delta: i32,
    ) -> Result<()> {
        let session = self.as_raw();
        check(|e| unsafe {
            sys::ggufx_session_sequence_shift(session, sequence, first, n_tokens, delta, e)
        })
    }
    /// Ids of the tokens of a sequence, and their positions. Errors: `ARGUMENT`.
    pub fn tokens(&self, sequence: u32) -> Result<(Vec<i32>, Vec<i32>)> {
        let n = self.sequence_length(sequence);
        let (mut ids, mut positions) = (vec![0; n as usize], vec![0; n as usize]);
        let (to, places) = (ids.as_mut_ptr(), positions.as_mut_ptr());
        check(|e| unsafe {
            sys::ggufx_session_sequence_tokens(to, places, self.as_raw(), sequence, 0, n, e)
        })?;
        Ok((ids, positions))
    }
    /// Memory of its KV caches.
    pub fn memory(&self) -> Result<SessionMemory> {
        let mut out = sized!(ggufx_session_memory_facts);
        check(|e| unsafe { sys::ggufx_session_memory(&mut out, self.as_raw(), e) })?;
        Ok(SessionMemory {
            cache_bytes: out.cache_bytes,
            n_pages: out.n_pages,
            n_shared_pages: out.n_shared_pages,
            n_tokens: out.n_tokens,
            n_tokens_left: out.n_tokens_left,
            embedded_bytes: out.embedded_bytes,
        })
    }
    /// Write a snapshot of a sequence, or of [`crate::ALL_SEQUENCES`].
    pub fn save(&self, sequence: u32, to: &mut dyn Write) -> Result<()> {
        let session = self.as_raw();
        saved(to, |write, user, e| unsafe {
            sys::ggufx_session_save(session, sequence, write, user, e)
        })
    }
    /// Replace a sequence, or all, by a snapshot; whole or not at all.
    pub fn load(&mut self, sequence: u32, from: &mut dyn Read) -> Result<()> {
        let session = self.as_raw();
        loaded(from, |read, user, e| unsafe {
            sys::ggufx_session_load(session, sequence, read, user, e)
        })
    }
    /// Write a snapshot to a file, which is replaced whole or not at all.
    pub fn save_path(&self, sequence: u32, path: impl AsRef<Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        let (session, path) = (self.as_raw(), path.as_ptr().cast());
        check(|e| unsafe { sys::ggufx_session_save_path(session, sequence, path, e) })
    }
    /// [`Session::load`] from a file.
    pub fn load_path(&mut self, sequence: u32, path: impl AsRef<Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        let (session, path) = (self.as_raw(), path.as_ptr().cast());
        check(|e| unsafe { sys::ggufx_session_load_path(session, sequence, path, e) })
    }
}
