//! Samplers, and those of them that the program supplies.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::{handle, sized};
use crate::keep::Keep;
use crate::watch::{check, flow, guarded};
use crate::{Runtime, SamplerLink, SamplerOptions};
use ggufx_sys as sys;
use std::ops::ControlFlow;
use std::ptr::null_mut;
use std::sync::Arc;

handle! {
    /// Chooses ids; holds its random state.
    Sampler(ggufx_sampler, ggufx_sampler_destroy) {
        hosts: Vec<Arc<Box<HostLink>>> // shared with clones
    }
}

/// A token that may be chosen: `id` and `logit`.
pub type Candidate = sys::ggufx_candidate;

/// Sampler supplied by the program: changes the logits or the order of the remaining candidates; a
/// logit of -infinity removes one; `Break` ends the call with `CANCELLED`.
pub type HostLink = dyn Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync;

unsafe extern "C" fn on_link(
    user: *mut sys::c_void,
    candidates: *mut sys::ggufx_candidate,
    n: usize,
) -> i32 {
    let link = &*user.cast::<Box<HostLink>>();
    let candidates = std::slice::from_raw_parts_mut(candidates, n);
    guarded(sys::GGUFX_E_CANCELLED, || flow(link(candidates)))
}

impl Sampler {
    /// For vocabularies of up to `n_vocab` tokens. Errors: `ARGUMENT`, `MEMORY`.
    pub fn new(rt: &Runtime, n_vocab: u32, options: SamplerOptions) -> Result<Self> {
        let (raw, mut out) = (options.raw(), null_mut());
        check(|e| unsafe { sys::ggufx_sampler_create(&mut out, rt.as_raw(), n_vocab, &raw, e) })?;
        Ok(Sampler::of_raw(out, Vec::new()))
    }
    /// Empty sampler chain, which samples from the unmodified logits. Errors: `ARGUMENT`, `MEMORY`.
    pub fn create_chain(rt: &Runtime, n_vocab: u32, seed: u64) -> Result<Self> {
        let (rt, mut out) = (rt.as_raw(), null_mut());
        check(|e| unsafe { sys::ggufx_sampler_create_chain(&mut out, rt, n_vocab, seed, e) })?;
        Ok(Sampler::of_raw(out, Vec::new()))
    }
    /// Append a sampler to the chain. Errors: `ARGUMENT`, `DUPLICATE`, `LIMIT`, `MEMORY`, `STATE`.
    pub fn add(&mut self, link: SamplerLink<'_>) -> Result<()> {
        let held = Keep::new();
        let raw = link.raw(&held)?;
        check(|e| unsafe { sys::ggufx_sampler_add(self.as_raw(), &raw, e) })
    }
    /// Append a sampler of the program to the chain. Errors: as [`Sampler::add`].
    pub fn add_host(
        &mut self,
        link: impl Fn(&mut [Candidate]) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let (host, mut raw) =
            (Arc::<Box<HostLink>>::new(Box::new(link)), sized!(ggufx_sampler_link));
        (raw.kind, raw.link) = (sys::GGUFX_LINK_HOST, Some(on_link as _));
        raw.user = Arc::as_ptr(&host) as *mut sys::c_void;
        check(|e| unsafe { sys::ggufx_sampler_add(self.as_raw(), &raw, e) })?;
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
