//! Stop strings.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{create, handle, sized};
use crate::Runtime;
use ggufx_sys as sys;

handle! {
    /// Streaming search for stop strings.
    Stop(ggufx_stop, ggufx_stop_destroy)
}

/// Progress of the search; bytes from `n_shown` to `n_taken` are withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopInfo {
    /// Index of the stop string found.
    pub found: Option<usize>,
    /// Fed bytes that belong to no stop string and cannot begin one.
    pub n_shown: u64,
    /// Bytes searched: all, or up to the end of the stop string found.
    pub n_taken: u64,
}

impl Stop {
    /// Search for stop strings of any bytes. Errors: `ARGUMENT` (index: an empty text), `LIMIT`,
    /// `MEMORY`.
    pub fn new<T: AsRef<[u8]>>(rt: &Runtime, texts: &[T]) -> Result<Self> {
        let texts = texts.iter().map(|text| {
            let text = text.as_ref();
            sys::ggufx_stop_text { text: text.as_ptr().cast(), length: text.len() }
        });
        let texts: Vec<_> = texts.collect();
        let raw = create(|out, e| unsafe {
            sys::ggufx_stop_create(out, rt.as_raw(), texts.as_ptr(), texts.len(), e)
        })?;
        Ok(Stop { raw })
    }
    /// The next bytes. Errors: `STATE` (a stop string was found: [`Stop::reset`]).
    pub fn feed(&mut self, text: impl AsRef<[u8]>) -> Result<StopInfo> {
        let (text, mut out) = (text.as_ref(), sized!(ggufx_stop_facts));
        let (stop, from, n) = (self.as_raw(), text.as_ptr().cast(), text.len());
        check(|e| unsafe { sys::ggufx_stop_feed(&mut out, stop, from, n, e) })?;
        let found = usize::try_from(out.found).ok();
        Ok(StopInfo { found, n_shown: out.n_shown, n_taken: out.n_taken })
    }
    /// Restart for another text.
    pub fn reset(&mut self) -> Result<()> {
        check(|e| unsafe { sys::ggufx_stop_reset(self.as_raw(), e) })
    }
}
