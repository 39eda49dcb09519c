//! libggufx for Rust: GGUF files, quantized matrices, KV caches and language models.
//!
//! The names and contracts are those of the C headers (`include/ggufx/*.h`, where a function
//! `ggufx_kv_append` is [`KvCache::append`]); this crate adds types, lifetimes, errors and iterators.
//! It starts no threads, keeps no state and copies no data. A value that is `Sync` may be used by
//! several threads at once; `&mut self` stands where the C side demands one caller at a time.
//! Objects keep what they need alive: a [`Session`] its model, a model its file.
//!
//! ```
//! use ggufx::{File, Runtime};
//! # fn main() -> ggufx::Result<()> {
//! # let path = match std::env::var("GGUFX_TEST_MODEL") { Ok(path) => path, Err(_) => return Ok(()) };
//! let rt = Runtime::new()?;
//! let file = File::open(&rt, &path, Default::default())?;
//! println!("{} keys", file.meta().len());
//! let w = file.tensor("token_embd.weight")?;
//! let x = vec![1.0; w.info()?.ne[0] as usize];
//! let y = w.matvec(&rt, &x)?;
//! assert_eq!(y.len() as u64, w.info()?.n_rows);
//! # Ok(())
//! # }
//! ```
// SPDX-License-Identifier: MIT
#![warn(missing_docs)]
#![allow(clippy::too_many_arguments)]

mod calls;
mod embedder;
mod error;
mod file;
mod handle;
mod hooks;
mod id;
#[allow(missing_docs)]
mod ids;
mod io;
mod keep;
#[cfg(doctest)]
#[path = "../tests/story/lifetimes.rs"]
mod lifetimes;
mod meta;
mod runtime;
mod session;
mod tensor;
mod tokenizer;
mod values;
mod watch;
mod writer;

pub use calls::*;
pub use error::{Error, Result};
pub use ggufx_sys as sys;
pub use hooks::{Allocator, Executor, LogSink};
pub use ids::*;
pub use io::ReadAt;
pub use keep::Values;
pub use meta::Meta;
pub use runtime::Hooks;
pub use session::{Attention, AttentionView, Session};
pub use tensor::{quantize, Tensor};
pub use tokenizer::Detokenizer;
pub use values::*;
pub use watch::Progress;
pub use writer::{Element, Stream};

/// A token that may be chosen: `id` and `logit`.
pub type Candidate = sys::ggufx_candidate;
/// All sequences of a KV cache or session.
pub const ALL_SEQUENCES: u32 = sys::GGUFX_ALL_SEQUENCES;
/// All layers of a KV cache.
pub const ALL_LAYERS: u32 = sys::GGUFX_KV_ALL_LAYERS;
