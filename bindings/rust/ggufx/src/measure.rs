//! Which of several endings a model expects.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::watch::{watch, Progress};
use crate::Session;
use ggufx_sys as sys;

impl Session {
    /// Logarithms of the probabilities of several endings of one context, each summed over its
    /// tokens. The session must be empty and is so again afterwards.
    /// Errors: `ARGUMENT`, `CANCELLED`, `CAPACITY`, `MEMORY`, `STATE`, `VALUE`.
    pub fn endings<'a, T: AsRef<[i32]>>(
        &mut self,
        context: &[i32],
        endings: &[T],
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<Vec<f64>> {
        let every: Vec<i32> = endings.iter().flat_map(|one| one.as_ref()).copied().collect();
        let lengths: Vec<usize> = endings.iter().map(|one| one.as_ref().len()).collect();
        let mut out = vec![0.0; lengths.len()];
        let (session, to, n) = (self.as_raw(), out.as_mut_ptr(), lengths.len());
        let (from, n_from, ids) = (context.as_ptr(), context.len(), every.as_ptr());
        watch(progress, |hook, e| unsafe {
            let lengths = lengths.as_ptr();
            sys::ggufx_measure_endings(to, session, from, n_from, ids, lengths, n, hook, e)
        })?;
        Ok(out)
    }
}
