//! Samplers, and those of them that the program supplies.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::handle;
use crate::watch::{check, flow, guarded};
use crate::Runtime;
use ggufx_sys as sys;
use std::ops::ControlFlow;
use std::ptr::null_mut;
use std::sync::Arc;

handle! {
    /// Chooses ids; holds its random state.
    Sampler(ggufx_sampler, ggufx_sampler_destroy) {
        hosts: Vec<Arc<Box<HostSampler>>> // shared with clones
    }
}

/// A token that may be chosen: `id` and `logit`.
pub type Candidate = sys::ggufx_candidate;

/// Sampler supplied by the program: changes the logits or the order of the remaining candidates; a
/// logit of -infinity removes one; `Break` ends the call with `CANCELLED`.
pub type HostSampler = dyn Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync;

unsafe extern "C" fn on_candidates(
    user: *mut sys::c_void,
    candidates: *mut sys::ggufx_candidate,
    n: usize,
) -> sys::ggufx_status {
    let apply = &*user.cast::<Box<HostSampler>>();
    let candidates = std::slice::from_raw_parts_mut(candidates, n);
    guarded(sys::GGUFX_E_CANCELLED, || flow(apply(candidates)))
}

impl Sampler {
    /// Empty chain for vocabularies of up to `n_vocab` tokens, which samples from the unchanged
    /// logits. Errors: `ARGUMENT`, `MEMORY`.
    pub fn new(rt: &Runtime, n_vocab: u32, seed: u64) -> Result<Self> {
        let (rt, mut out) = (rt.as_raw(), null_mut());
        check(|e| unsafe { sys::ggufx_sampler_create(&mut out, rt, n_vocab, seed, e) })?;
        Ok(Sampler::of_raw(out, Vec::new()))
    }
    /// Append a sampler of the program to the chain. Errors: as [`Sampler::add_top_k`].
    pub fn add_host(
        &mut self,
        apply: impl Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let host = Arc::<Box<HostSampler>>::new(Box::new(apply));
        let (this, user) = (self.as_raw(), Arc::as_ptr(&host) as *mut sys::c_void);
        check(|e| unsafe { sys::ggufx_sampler_add_host(this, Some(on_candidates), user, e) })?;
        self.hosts.push(host);
        Ok(())
    }
    /// Copy with the same state: it continues exactly as this one. Errors: `MEMORY`.
    pub fn try_clone(&self) -> Result<Self> {
        let mut out = null_mut();
        check(|e| unsafe { sys::ggufx_sampler_clone(&mut out, self.as_raw(), e) })?;
        Ok(Sampler::of_raw(out, self.hosts.clone()))
    }
}
