//! Logits to an id.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::{create, handle, sized};
use crate::watch::{guarded, rethrow, Panic};
use crate::Runtime;
use ggufx_sys as sys;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

mod raw {
    use super::*;
    handle! {
        /// One C sampler.
        Handle(ggufx_sampler, ggufx_sampler_destroy)
    }
    impl Handle {
        pub fn new(raw: std::ptr::NonNull<sys::ggufx_sampler>) -> Self {
            Handle { raw }
        }
    }
}

/// Chooses ids; holds its random state.
#[derive(Debug)]
pub struct Sampler {
    handle: raw::Handle,
    hosts: Vec<Arc<Host>>, // custom samplers, shared with clones
}

/// A token that may be chosen: `id` and `logit`.
pub type Candidate = sys::ggufx_candidate;

/// Sampler supplied by the program: changes the logits or the order of the remaining candidates; a
/// logit of -infinity removes one; `Break` ends the call with `CANCELLED`.
pub type HostLink = dyn Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync;

struct Host {
    link: Box<HostLink>,
    panic: Mutex<Panic>,
}
impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}

unsafe extern "C" fn on_link(
    user: *mut sys::c_void,
    candidates: *mut sys::ggufx_candidate,
    n: usize,
) -> i32 {
    let host = &*user.cast::<Host>();
    let candidates = std::slice::from_raw_parts_mut(candidates, n);
    let mut panic = match host.panic.lock() {
        Ok(panic) => panic,
        Err(poisoned) => poisoned.into_inner(),
    };
    guarded(&mut panic, 1, || (host.link)(candidates).is_break() as i32)
}

/// Sampler of a chain; zeros are the defaults in `ggufx/sampler.h`.
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Link<'a> {
    /// The k likeliest.
    TopK(u32),
    /// The fewest by rank whose probabilities add up to this.
    TopP(f32),
    /// Keeps tokens with at least this fraction of the top probability.
    MinP(f32),
    /// The fewest that add up to this, nearest to the entropy first.
    Typical(f32),
    /// Keeps tokens within this many standard deviations of the largest logit.
    TopNSigma(f32),
    /// XTC: with a probability, removes all tokens of at least `threshold` except the least likely
    /// of them.
    Xtc { probability: f32, threshold: f32 },
    /// Divides the logits; with a range, the temperature depends on the entropy.
    Temperature { temperature: f32, range: f32, exponent: f32 },
    /// Penalties for tokens among the last accepted ones.
    Penalties { n_last: u32, repetition: f32, frequency: f32, presence: f32 },
    /// DRY (don't repeat yourself): penalty for tokens that extend a repeat.
    Dry { n_last: u32, multiplier: f32, base: f32, allowed_length: u32, breakers: &'a [i32] },
    /// Added to logits: ids and what.
    Bias(&'a [(i32, f32)]),
    /// Keeps the surprise near tau; version 1 or 2. Last.
    Mirostat { version: u32, tau: f32, eta: f32, m: u32 },
    /// Supplied by the program.
    Host(Box<HostLink>),
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
        let handle = create(|out, e| unsafe {
            sys::ggufx_sampler_create(out, rt.as_raw(), n_vocab, &raw, e)
        })?;
        Ok(Sampler { handle: raw::Handle::new(handle), hosts: Vec::new() })
    }
    /// Empty sampler chain, which samples from the unmodified logits. Errors: `ARGUMENT`, `MEMORY`.
    pub fn chain(rt: &Runtime, n_vocab: u32, seed: u64) -> Result<Self> {
        let handle = create(|out, e| unsafe {
            sys::ggufx_sampler_create_chain(out, rt.as_raw(), n_vocab, seed, e)
        })?;
        Ok(Sampler { handle: raw::Handle::new(handle), hosts: Vec::new() })
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *mut sys::ggufx_sampler {
        self.handle.as_raw()
    }
    /// Append a sampler to the chain. Errors: `ARGUMENT`, `DUPLICATE`, `LIMIT`, `MEMORY`, `STATE`.
    pub fn add(&mut self, link: Link<'_>) -> Result<()> {
        let mut raw = sized!(ggufx_sampler_link);
        let (mut biases, mut host) = (Vec::new(), None);
        match link {
            Link::TopK(k) => (raw.kind, raw.k) = (sys::GGUFX_LINK_TOP_K, k),
            Link::TopP(p) => (raw.kind, raw.p) = (sys::GGUFX_LINK_TOP_P, p),
            Link::MinP(p) => (raw.kind, raw.p) = (sys::GGUFX_LINK_MIN_P, p),
            Link::Typical(p) => (raw.kind, raw.p) = (sys::GGUFX_LINK_TYPICAL, p),
            Link::TopNSigma(n) => (raw.kind, raw.n_sigma) = (sys::GGUFX_LINK_TOP_N_SIGMA, n),
            Link::Xtc { probability, threshold } => {
                raw.kind = sys::GGUFX_LINK_XTC;
                (raw.probability, raw.threshold) = (probability, threshold);
            }
            Link::Temperature { temperature, range, exponent } => {
                (raw.kind, raw.temperature) = (sys::GGUFX_LINK_TEMPERATURE, temperature);
                (raw.range, raw.exponent) = (range, exponent);
            }
            Link::Penalties { n_last, repetition, frequency, presence } => {
                (raw.kind, raw.n_last) = (sys::GGUFX_LINK_PENALTIES, n_last);
                raw.repetition = repetition;
                (raw.frequency, raw.presence) = (frequency, presence);
            }
            Link::Dry { n_last, multiplier, base, allowed_length, breakers } => {
                (raw.kind, raw.n_last) = (sys::GGUFX_LINK_DRY, n_last);
                (raw.multiplier, raw.base) = (multiplier, base);
                raw.allowed_length = allowed_length;
                (raw.breakers, raw.n_breakers) = (breakers.as_ptr(), breakers.len());
            }
            Link::Bias(list) => {
                raw.kind = sys::GGUFX_LINK_BIAS;
                biases.extend(list.iter().map(|&(id, bias)| sys::ggufx_logit_bias { id, bias }));
                (raw.biases, raw.n_biases) = (biases.as_ptr(), biases.len());
            }
            Link::Mirostat { version, tau, eta, m } => {
                (raw.kind, raw.version) = (sys::GGUFX_LINK_MIROSTAT, version);
                (raw.tau, raw.eta, raw.m) = (tau, eta, m);
            }
            Link::Host(link) => {
                let shared = Arc::new(Host { link, panic: Mutex::new(None) });
                raw.kind = sys::GGUFX_LINK_HOST;
                raw.link = Some(on_link);
                raw.user = Arc::as_ptr(&shared) as *mut sys::c_void;
                host = Some(shared);
            }
        }
        check(|e| unsafe { sys::ggufx_sampler_add(self.as_raw(), &raw, e) })?;
        self.hosts.extend(host);
        Ok(())
    }
    /// Record tokens appended to the sequence, from any source. Errors: `ARGUMENT`.
    pub fn accept(&mut self, ids: &[i32]) -> Result<()> {
        let (sampler, from, n) = (self.as_raw(), ids.as_ptr(), ids.len());
        check(|e| unsafe { sys::ggufx_sampler_accept(sampler, from, n, e) })
    }
    /// Reset to the initial state, with the same samplers.
    pub fn reset(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_sampler_reset(self.as_raw(), e) })
    }
    /// Copy with the same state: it continues exactly as this one. Errors: `MEMORY`.
    pub fn try_clone(&self) -> Result<Self> {
        let handle = create(|out, e| unsafe { sys::ggufx_sampler_clone(out, self.as_raw(), e) })?;
        Ok(Sampler { handle: raw::Handle::new(handle), hosts: self.hosts.clone() })
    }
    /// After a call that may have called hosts.
    pub(crate) fn rethrow(&self) {
        for host in &self.hosts {
            let panic = match host.panic.lock() {
                Ok(mut panic) => panic.take(),
                Err(poisoned) => poisoned.into_inner().take(),
            };
            rethrow(panic);
        }
    }
    /// An id and the logarithm of its probability before the filters. Errors: `ARGUMENT`, `VALUE`.
    pub fn sample(&mut self, logits: &[f32]) -> Result<(i32, f32)> {
        let (mut id, mut logprob, n) = (0, 0.0, logits.len());
        let (sampler, from) = (self.as_raw(), logits.as_ptr());
        let result = check(|e| unsafe {
            sys::ggufx_sampler_sample(&mut id, &mut logprob, sampler, from, n, e)
        });
        self.rethrow();
        result.map(|()| (id, logprob))
    }
}

/// The likeliest tokens: fills `ids` and `logprobs`, of equal length, with them and the natural
/// logarithms of their probabilities; returns that of the token `chosen`. Errors: `ARGUMENT`,
/// `VALUE`.
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
