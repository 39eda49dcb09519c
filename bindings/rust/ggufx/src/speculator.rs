//! Speculative decoding: several tokens at little more than the cost of one.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::{create, handle, sized};
use crate::watch::{guarded, rethrow, watch, Panic, Progress};
use crate::{Matcher, Sampler, Session};
use ggufx_sys as sys;

mod raw {
    use super::*;
    handle! {
        /// One C speculator.
        Handle(ggufx_speculator, ggufx_speculator_destroy)
    }
    impl Handle {
        pub fn new(raw: std::ptr::NonNull<sys::ggufx_speculator>) -> Self {
            Handle { raw }
        }
    }
}

/// Proposes draft tokens: writes ids into the last argument and returns their number; the others
/// are the sequence and the token after it.
pub type Guess<'a> = dyn FnMut(&[i32], i32, &mut [i32]) -> usize + 'a;

/// Options of speculative decoding; the default is prompt lookup.
#[derive(Default)]
pub struct SpeculatorOptions<'a> {
    /// A session of a smaller model with the same vocabulary.
    pub draft: Option<&'a mut Session>,
    /// Draft tokens from a callback; not together with `draft`.
    pub guess: Option<Box<Guess<'a>>>,
    /// End-of-generation token ids.
    pub stops: &'a [i32],
    /// Maximum draft tokens per step; 0: 15.
    pub n_draft: u32,
    /// N-gram length for prompt lookup; 0: 3.
    pub n_match: u32,
}

/// Draft tokens and their acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeculatorInfo {
    /// That gave something.
    pub n_calls: u64,
    /// They gave.
    pub n_tokens: u64,
    /// Draft tokens.
    pub n_drafted: u64,
    /// Accepted draft tokens: chosen by the sampler.
    pub n_accepted: u64,
}

struct Guessing<'a> {
    guess: Box<Guess<'a>>,
    panic: Panic,
}

unsafe extern "C" fn on_guess(
    user: *mut sys::c_void,
    out: *mut i32,
    most: usize,
    text: *const i32,
    n_text: usize,
    last: i32,
) -> usize {
    let state = &mut *user.cast::<Guessing<'_>>();
    let text = if n_text == 0 { &[] } else { std::slice::from_raw_parts(text, n_text) };
    std::ptr::write_bytes(out, 0, most);
    let out = std::slice::from_raw_parts_mut(out, most);
    let guess = &mut state.guess;
    guarded(&mut state.panic, 0, || guess(text, last, out).min(most))
}

/// Speculative decoding on a session: its ids are exactly those of decoding token by token,
/// whatever the draft tokens are.
pub struct Speculator<'a> {
    handle: raw::Handle,
    session: &'a mut Session,
    guessing: Option<Box<Guessing<'a>>>,
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
        let mut raw = sized!(ggufx_speculator_options);
        let mut guessing = options.guess.map(|guess| Box::new(Guessing { guess, panic: None }));
        if let Some(draft) = options.draft {
            raw.draft = draft.as_raw();
        }
        if let Some(state) = &mut guessing {
            raw.guess = Some(on_guess);
            raw.user = (&mut **state as *mut Guessing<'_>).cast();
        }
        (raw.stops, raw.n_stops) = (options.stops.as_ptr(), options.stops.len());
        (raw.n_draft, raw.n_match) = (options.n_draft, options.n_match);
        let handle = create(|out, e| unsafe {
            sys::ggufx_speculator_create(out, session.as_raw(), &raw, e)
        })?;
        Ok(Speculator { handle: raw::Handle::new(handle), session, guessing })
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
    pub fn next<'p>(
        &mut self,
        ids: &mut [i32],
        logprobs: &mut [f32],
        sampler: &mut Sampler,
        matcher: Option<&mut Matcher>,
        progress: Option<&'p mut Progress<'p>>,
    ) -> Result<usize> {
        if !logprobs.is_empty() && logprobs.len() != ids.len() {
            return Err(crate::Error::argument("ids and logprobs differ in length"));
        }
        let values = match logprobs.is_empty() {
            true => std::ptr::null_mut(),
            false => logprobs.as_mut_ptr(),
        };
        let matcher = matcher.map_or(std::ptr::null_mut(), |matcher| matcher.as_raw());
        let (to, capacity, mut n) = (ids.as_mut_ptr(), ids.len(), 0);
        let (speculator, chooser) = (self.as_raw(), sampler.as_raw());
        let result = watch(progress, |hook, e| unsafe {
            sys::ggufx_speculator_next(
                to, values, capacity, &mut n, speculator, chooser, matcher, hook, e,
            )
        });
        sampler.rethrow();
        if let Some(state) = &mut self.guessing {
            rethrow(state.panic.take());
        }
        result.map(|()| n)
    }
    /// Draft tokens and their acceptance.
    pub fn info(&self) -> Result<SpeculatorInfo> {
        let mut out = sized!(ggufx_speculator_facts);
        crate::error::check(|e| unsafe {
            sys::ggufx_speculator_info(&mut out, self.as_raw(), e)
        })?;
        Ok(SpeculatorInfo {
            n_calls: out.n_calls,
            n_tokens: out.n_tokens,
            n_drafted: out.n_drafted,
            n_accepted: out.n_accepted,
        })
    }
}
