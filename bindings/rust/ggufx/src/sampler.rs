//! Logits to an id.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{create, handle, sized};
use crate::Runtime;
use ggufx_sys as sys;

handle! {
    /// Chooses ids; holds its random state.
    Sampler(ggufx_sampler, ggufx_sampler_destroy)
}

/// How ids are chosen; the default is greedy.
#[derive(Clone, Copy, Debug, Default)]
pub struct SamplerOptions {
    /// 0: the largest logit.
    pub temperature: f32,
    /// 0 or 1: off.
    pub top_p: f32,
    /// 0: off.
    pub min_p: f32,
    /// 0: off.
    pub top_k: u32,
    /// The same seed gives the same ids.
    pub seed: u64,
}

impl Sampler {
    /// For vocabularies of up to `n_vocab` tokens. Errors: `ARGUMENT`, `MEMORY`.
    pub fn new(rt: &Runtime, n_vocab: u32, options: SamplerOptions) -> Result<Self> {
        let mut raw = sized!(ggufx_sampler_options);
        raw.temperature = options.temperature;
        raw.top_p = options.top_p;
        raw.min_p = options.min_p;
        raw.top_k = options.top_k;
        raw.seed = options.seed;
        let raw = create(|out, e| unsafe {
            sys::ggufx_sampler_create(out, rt.as_raw(), n_vocab, &raw, e)
        })?;
        Ok(Sampler { raw })
    }
    /// An id and the logarithm of its probability before the filters. Errors: `ARGUMENT`, `VALUE`.
    pub fn sample(&mut self, logits: &[f32]) -> Result<(i32, f32)> {
        let (mut id, mut logprob, n) = (0, 0.0, logits.len());
        let (sampler, from) = (self.as_raw(), logits.as_ptr());
        check(|e| unsafe {
            sys::ggufx_sampler_sample(&mut id, &mut logprob, sampler, from, n, e)
        })?;
        Ok((id, logprob))
    }
}
