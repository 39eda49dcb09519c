//! Speculative decoding: several tokens at little more than the cost of one.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::{handle, items};
use crate::keep::{exactly, user_of, Keep};
use crate::watch::{check, guarded, watched, Progress};
use crate::{Matcher, Sampler, Session, SpeculatorOptions};
use ggufx_sys as sys;
use std::ptr::null_mut;

mod raw {
    use super::*;
    handle! {
        /// One C speculator.
        Handle(ggufx_speculator, ggufx_speculator_destroy)
    }
}

/// Proposes draft tokens: writes ids into the last argument and returns their number; the others
/// are the sequence and the token after it.
pub type Guess<'a> = dyn FnMut(&[i32], i32, &mut [i32]) -> usize + 'a;

unsafe extern "C" fn on_guess(
    user: *mut sys::c_void,
    out: *mut i32,
    most: usize,
    text: *const i32,
    n_text: usize,
    last: i32,
) -> usize {
    let guess = &mut *user.cast::<Box<Guess<'_>>>();
    std::ptr::write_bytes(out, 0, most);
    let (text, out) = (items(text, n_text), std::slice::from_raw_parts_mut(out, most));
    guarded(0, || guess(text, last, out).min(most))
}

/// Speculative decoding on a session: its ids are exactly those of decoding token by token,
/// whatever the draft tokens are.
pub struct Speculator<'a> {
    handle: raw::Handle,
    session: &'a mut Session,
    _guess: Option<Box<Box<Guess<'a>>>>, // the C side has its address
}

impl std::fmt::Debug for Speculator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Speculator").field("handle", &self.handle).finish()
    }
}

impl<'a> Speculator<'a> {
    /// For sequence 0 of a session whose products are `BATCH_INVARIANT` or `TILES`.
    /// Errors: `ARGUMENT`, `LIMIT`, `MEMORY`, `MISMATCH` (the vocabularies differ).
    pub fn new(session: &'a mut Session, options: SpeculatorOptions<'a>) -> Result<Self> {
        Self::with(session, options, None)
    }
    /// The same with draft tokens of the program; not together with a draft session.
    pub fn guessing(
        session: &'a mut Session,
        options: SpeculatorOptions<'a>,
        guess: impl FnMut(&[i32], i32, &mut [i32]) -> usize + 'a,
    ) -> Result<Self> {
        Self::with(session, options, Some(Box::new(guess)))
    }
    fn with(
        session: &'a mut Session,
        options: SpeculatorOptions<'a>,
        guess: Option<Box<Guess<'a>>>,
    ) -> Result<Self> {
        let (mut guess, mut raw, mut out) = (guess.map(Box::new), options.raw(), null_mut());
        if let Some(guess) = &mut guess {
            (raw.guess, raw.user) = (Some(on_guess as _), user_of(&mut **guess));
        }
        check(|e| unsafe { sys::ggufx_speculator_create(&mut out, session.as_raw(), &raw, e) })?;
        Ok(Speculator { handle: raw::Handle::of_raw(out), session, _guess: guess })
    }
    /// The session, to decode a prompt, to look, to go back.
    pub fn session(&mut self) -> &mut Session {
        self.session
    }
    /// The C object, valid as long as `self`.
    pub fn as_raw(&self) -> *mut sys::ggufx_speculator {
        self.handle.as_raw()
    }
    /// Write the next tokens, at least one, to `ids`; returns their number. `logprobs`, of as many,
    /// may be empty. The last one is not in the session yet. Errors: those of
    /// `ggufx_speculator_next`.
    pub fn next(
        &mut self,
        ids: &mut [i32],
        logprobs: &mut [f32],
        sampler: &mut Sampler,
        matcher: Option<&mut Matcher>,
        progress: Option<&mut Progress<'_>>,
    ) -> Result<usize> {
        let mut values = Some(logprobs).filter(|values| !values.is_empty());
        exactly("logprobs", values.as_deref().map(<[_]>::len), ids.len() as u64)?;
        let matcher = matcher.map_or(null_mut(), |matcher| matcher.as_raw());
        let (held, mut n) = (Keep::new(), 0);
        let (to, capacity, values) =
            (ids.as_mut_ptr(), ids.len(), crate::keep::optional_mut(&mut values));
        let (this, sampler, progress) = (self.as_raw(), sampler.as_raw(), held.progress(progress));
        watched(|e| unsafe {
            sys::ggufx_speculator_next(
                to, values, capacity, &mut n, this, sampler, matcher, progress, e,
            )
        })?;
        Ok(n)
    }
}
