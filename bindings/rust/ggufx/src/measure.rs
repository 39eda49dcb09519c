//! Perplexity, KL divergence from another model, and multiple-choice scores.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::file::path_string;
use crate::handle::sized;
use crate::kv_snapshot::{Loading, Saving};
use crate::watch::{guarded, rethrow, stop_code, watch, Panic, Progress};
use crate::Session;
use ggufx_sys as sys;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// Result of [`Session::measure`]; see `ggufx_measure_facts`.
pub type Measure = sys::ggufx_measure_facts;

/// Destination or source of saved logits.
pub enum SavedLogits<'a, T: ?Sized> {
    /// A file.
    Path(&'a Path),
    /// A stream.
    Stream(&'a mut T),
}

/// Options of a measurement; the default is all unset.
#[derive(Default)]
pub struct MeasureOptions<'a> {
    /// Stride between the starts of chunks in tokens; 0: chunks do not overlap.
    pub stride: u32,
    /// Destination of the logits of all predictions.
    pub save: Option<SavedLogits<'a, dyn Write + 'a>>,
    /// Saved ones to compare with.
    pub base: Option<SavedLogits<'a, dyn Read + 'a>>,
    /// Sees the running result after each chunk, may stop.
    #[allow(clippy::type_complexity)]
    pub report: Option<&'a mut dyn FnMut(&Measure) -> ControlFlow<()>>,
    /// Sees tokens, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

struct Reporting<'a> {
    report: &'a mut dyn FnMut(&Measure) -> ControlFlow<()>,
    panic: Panic,
}
unsafe extern "C" fn on_chunk(user: *mut sys::c_void, running: *const Measure) -> i32 {
    let state = &mut *user.cast::<Reporting<'_>>();
    let report = &mut state.report;
    guarded(&mut state.panic, 1, || stop_code(report(&*running)))
}

impl Session {
    /// Perplexity of tokens in chunks of `n_context`, and the divergence from saved logits. The
    /// session must be empty; it is empty again afterwards. Errors: those of `ggufx_measure`.
    pub fn measure<'a>(
        &mut self,
        tokens: &[i32],
        n_context: u32,
        bos: Option<i32>,
        options: MeasureOptions<'a>,
    ) -> Result<Measure> {
        let mut raw = sized!(ggufx_measure_options);
        raw.stride = options.stride;
        let (mut save_path, mut base_path) = (None, None);
        let (mut saving, mut loading) = (None, None);
        match options.save {
            Some(SavedLogits::Path(path)) => save_path = Some(path_string(path)?),
            Some(SavedLogits::Stream(to)) => saving = Some(Saving::new(to)),
            None => (),
        }
        match options.base {
            Some(SavedLogits::Path(path)) => base_path = Some(path_string(path)?),
            Some(SavedLogits::Stream(from)) => loading = Some(Loading::new(from)),
            None => (),
        }
        if let Some(path) = &save_path {
            raw.save_path = path.as_ptr().cast();
        }
        if let Some(path) = &base_path {
            raw.base_path = path.as_ptr().cast();
        }
        if let Some(state) = &mut saving {
            (raw.write, raw.write_user) = state.hook();
        }
        if let Some(state) = &mut loading {
            (raw.read, raw.read_user) = state.hook();
        }
        let mut reporting = options.report.map(|report| Reporting { report, panic: None });
        if let Some(state) = &mut reporting {
            raw.report = Some(on_chunk);
            raw.report_user = (state as *mut Reporting<'_>).cast();
        }
        let mut out = sized!(ggufx_measure_facts);
        let (session, from, n) = (self.as_raw(), tokens.as_ptr(), tokens.len());
        let bos = bos.unwrap_or(-1);
        let result = watch(options.progress, |progress, e| unsafe {
            raw.progress = progress;
            sys::ggufx_measure(&mut out, session, from, n, n_context, bos, &raw, e)
        });
        rethrow(saving.and_then(|state| state.panic));
        rethrow(loading.and_then(|state| state.panic));
        rethrow(reporting.and_then(|state| state.panic));
        result.map(|()| out)
    }
    /// Log-probabilities of several continuations of one context, each summed over its tokens. The
    /// session must be empty; it is empty again afterwards. Errors: `ARGUMENT`, `CANCELLED`,
    /// `CAPACITY`, `MEMORY`, `STATE`, `VALUE`.
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
