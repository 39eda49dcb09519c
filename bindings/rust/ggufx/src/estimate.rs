//! Memory estimates: bytes of weights, caches and sessions, and the best recipe that fits.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::sized;
use crate::types::c_string;
use crate::{EstimateFlags, File, FileType, KvType, QuantizerOptions, Runtime};
use ggufx_sys as sys;

/// Options of an estimate; the default is the unchanged file with the context of a session.
#[derive(Clone, Copy, Default)]
pub struct EstimateOptions<'a> {
    /// As this recipe would make it; None: as it is. To [`recommend`], None leaves it open.
    pub recipe: Option<FileType>,
    /// How the recipe would be used. Its imatrix need not be there yet: `with_imatrix`.
    pub quantizer: QuantizerOptions<'a>,
    /// An imatrix with an entry for every tensor will be there.
    pub with_imatrix: bool,
    /// Tokens of each session; 0: as [`crate::Session::new`].
    pub n_context: u32,
    /// Tokens computed at once; 0: 512.
    pub n_batch: u32,
    /// Number of concurrent sessions; 0: 1.
    pub n_sessions: u32,
    /// Conversations of each session; 0: 1.
    pub n_sequences: u32,
    /// Per session, as in [`crate::SessionOptions`].
    pub n_context_total: u64,
    /// Type of the keys; None: F16, or left to [`recommend`] where both are None.
    pub type_k: Option<KvType>,
    /// Type of the values, as `type_k`.
    pub type_v: Option<KvType>,
    /// Memory limit in bytes; 0: no limit.
    pub memory_bytes: u64,
    /// Bytes that all threads read from memory per second; 0: no speeds.
    pub bandwidth: f64,
    /// Per session, as in [`crate::SessionOptions`].
    pub n_checkpoints: Option<u32>,
    /// LoRA adapters and control vectors that all sessions use together.
    pub adapters: &'a [&'a File],
}

/// Memory of a model; see `ggufx_estimate_facts`.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Fits, needs an imatrix, has no graph here.
    pub flags: EstimateFlags,
    /// The recipe; None: tensors as they are.
    pub recipe: Option<FileType>,
    /// Types of the caches' keys and values.
    pub kv_types: (KvType, KvType),
    /// All numbers.
    pub facts: sys::ggufx_estimate_facts,
}

fn ask(
    options: EstimateOptions<'_>,
    call: impl FnOnce(
        *mut sys::ggufx_estimate_facts,
        *const sys::ggufx_estimate_options,
        *mut sys::ggufx_error,
    ) -> sys::ggufx_status,
) -> Result<Estimate> {
    let name = options.quantizer.imatrix_name.map(c_string).transpose()?;
    let job = options.quantizer.raw(name.as_deref());
    let (mut raw, mut out) = (sized!(ggufx_estimate_options), sized!(ggufx_estimate_facts));
    if let Some(recipe) = options.recipe {
        raw.flags |= EstimateFlags::FILE_TYPE.0;
        raw.file_type = recipe.id;
    }
    if options.with_imatrix {
        raw.flags |= EstimateFlags::IMATRIX.0;
    }
    raw.n_context = options.n_context;
    raw.n_batch = options.n_batch;
    raw.n_sessions = options.n_sessions;
    raw.n_sequences = options.n_sequences;
    raw.n_context_total = options.n_context_total;
    raw.type_k = options.type_k.unwrap_or(KvType::DEFAULT).0;
    raw.type_v = options.type_v.unwrap_or(KvType::DEFAULT).0;
    raw.job = &job;
    raw.memory_bytes = options.memory_bytes;
    raw.bandwidth = options.bandwidth;
    raw.n_checkpoints = crate::session::checkpoints(options.n_checkpoints);
    let adapters: Vec<*const sys::ggufx_file> =
        options.adapters.iter().map(|file| file.as_raw() as *const _).collect();
    (raw.adapters, raw.n_adapters) = (adapters.as_ptr(), adapters.len());
    check(|e| call(&mut out, &raw, e))?;
    Ok(Estimate {
        flags: EstimateFlags(out.flags),
        recipe: FileType::all().find(|t| t.id == out.file_type),
        kv_types: (KvType(out.type_k), KvType(out.type_v)),
        facts: out,
    })
}

/// Memory of a model: of the unchanged file, or after quantization by a recipe. Errors: those of
/// `ggufx_estimate`.
pub fn estimate(rt: &Runtime, file: &File, options: EstimateOptions<'_>) -> Result<Estimate> {
    let (rt, file) = (rt.as_raw(), file.as_raw());
    ask(options, |out, o, e| unsafe {
        sys::ggufx_estimate(out, rt, file, o, e)
    })
}

/// The recipe and the types of cache that lose least among those that fit. Errors: `CAPACITY`
/// (nothing fits), those of [`estimate`].
pub fn recommend(rt: &Runtime, file: &File, options: EstimateOptions<'_>) -> Result<Estimate> {
    let (rt, file) = (rt.as_raw(), file.as_raw());
    ask(options, |out, o, e| unsafe {
        sys::ggufx_recommend(out, rt, file, o, e)
    })
}
