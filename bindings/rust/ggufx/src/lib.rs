//! libggufx for Rust: GGUF files, quantized matrices, KV caches and language models.
//!
//! The names and contracts are those of the C headers (`include/ggufx/*.h`, where a function
//! `ggufx_kv_append` is [`Kv::append`]); this crate adds types, lifetimes, errors and iterators.
//! It starts no threads, keeps no state and copies no data. A value that is `Sync` may be used by
//! several threads at once; `&mut self` stands where the C side demands one caller at a time.
//! Objects keep what they need alive: a [`Session`] its model, a model its file.
//!
//! ```
//! use ggufx::{File, Runtime};
//! # fn main() -> ggufx::Result<()> {
//! # let path = match std::env::var("GGUFX_TEST_MODEL") { Ok(path) => path, Err(_) => return Ok(()) };
//! let rt = Runtime::new()?;
//! let file = File::open(&rt, &path)?;
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

mod adapter;
mod chat;
mod edit;
mod embedder;
mod error;
mod estimate;
mod file;
mod grammar;
mod handle;
mod hooks;
mod id;
#[allow(missing_docs)]
mod ids;
mod imatrix;
mod io;
mod job;
mod job_run;
mod kv;
mod kv_attend;
mod kv_snapshot;
#[cfg(doctest)]
mod lifetimes;
mod matmul;
mod measure;
mod meta;
mod model;
mod pre_tokenizer;
mod quant;
mod runtime;
mod sampler;
mod sequences;
mod session;
mod speculator;
mod stop;
mod tensor;
mod tokenizer;
mod types;
mod watch;
mod writer;
mod writer_write;

pub use adapter::{Adapter, AdapterInfo, AdapterOptions};
pub use chat::{
    chat_formats, Chat, ChatEvent, ChatInfo, ChatOptions, ChatParser, ChatParserInfo,
    ChatParserOptions, ChatRequest, ChatRun,
};
pub use edit::{recover_edit, EditInfo};
pub use embedder::{EmbedOptions, Embedder, EmbedderInfo};
pub use error::{Error, Result};
pub use estimate::{estimate, recommend, Estimate, EstimateOptions};
pub use file::{File, FileInfo, Finding, OpenOptions};
pub use ggufx_sys as sys;
pub use grammar::{Grammar, Matcher, MatcherInfo};
pub use hooks::{Allocator, Executor};
pub use ids::*;
pub use imatrix::{CollectOptions, Imatrix, ImatrixEntry, ImatrixInfo};
pub use io::ReadAt;
pub use job::{FileType, PlannedTensor, Quantizer, QuantizerInfo, QuantizerOptions};
pub use job_run::{RunOptions, TensorDone};
pub use kv::{Kv, KvLayer, KvOptions, KvStats, ALL_LAYERS, ALL_SEQUENCES};
pub use kv_attend::AttendOptions;
pub use matmul::{matvec_many, MatmulOptions};
pub use measure::{Measure, MeasureOptions, SavedLogits};
pub use meta::{Meta, MetaIter, Strings};
pub use model::{LayerInfo, Model, ModelInfo, ModelOptions};
pub use pre_tokenizer::{unicode_version, PreTokenizer};
pub use quant::{dequantize_blocks, quantize_blocks, quantize_blocks_into, QuantizeOptions};
pub use runtime::{Runtime, RuntimeInfo, RuntimeOptions};
pub use sampler::{logprobs, Candidate, HostLink, Link, Sampler, SamplerOptions};
pub use sequences::{BatchItem, BatchOptions, SessionMemory, Want};
pub use session::{
    Attention, AttentionView, DecodeOptions, Perplexity, Session, SessionInfo, SessionOptions,
};
pub use speculator::{Guess, Speculator, SpeculatorInfo, SpeculatorOptions};
pub use stop::{Stop, StopInfo};
pub use tensor::{Tensor, TensorInfo, TensorIter};
pub use tokenizer::{Detokenizer, TokenInfo, Tokenizer, TokenizerInfo};
pub use types::{has, version, TypeInfo};
pub use watch::Progress;
pub use writer::{Element, Writer, WriterOptions};
pub use writer_write::{Stream, WriteOptions, WriterInfo};
