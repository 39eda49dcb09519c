//! Logits to an id.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
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

/// The likeliest tokens: fills `ids` and `logprobs`, of equal length, with them and the natural
/// logarithms of their probabilities; gives that of the token `chosen`. Errors: `ARGUMENT`, `VALUE`.
pub fn logprobs(
    rt: &Runtime,
    logits: &[f32],
    ids: &mut [i32],
    logprobs: &mut [f32],
    chosen: Option<i32>,
) -> Result<Option<f32>> {
    if ids.len() != logprobs.len() {
        return Err(Error::argument("ids and logprobs differ in length"));
    }
    let (mut of_chosen, k) = (0.0, ids.len());
    let one = chosen.map_or(std::ptr::null_mut(), |_| &mut of_chosen as *mut f32);
    let (from, n, to, values) =
        (logits.as_ptr(), logits.len(), ids.as_mut_ptr(), logprobs.as_mut_ptr());
    check(|e| unsafe {
        sys::ggufx_logprobs(to, values, k, one, rt.as_raw(), from, n, chosen.unwrap_or(0), e)
    })?;
    Ok(chosen.map(|_| of_chosen))
}
