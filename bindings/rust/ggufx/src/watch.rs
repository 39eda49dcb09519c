//! Progress of long calls, and panics of callbacks: held until the C call has returned.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::size;
use ggufx_sys as sys;
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null;

/// Called during a long call, on its thread, with what is done and the total (0: unknown);
/// `Break` ends it with [`Status::CANCELLED`](crate::Status::CANCELLED).
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// Panic payload of a callback.
pub(crate) type Panic = Option<Box<dyn Any + Send>>;

/// Run a callback; after a panic, `stop` is returned to C.
pub(crate) fn guarded<T>(panic: &mut Panic, stop: T, run: impl FnOnce() -> T) -> T {
    if panic.is_some() {
        return stop;
    }
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(value) => value,
        Err(payload) => {
            *panic = Some(payload);
            stop
        }
    }
}

pub(crate) fn rethrow(panic: Panic) {
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

pub(crate) fn stop_code(flow: ControlFlow<()>) -> i32 {
    matches!(flow, ControlFlow::Break(())) as i32
}

struct Watched<'a> {
    report: &'a mut Progress<'a>,
    panic: Panic,
}

unsafe extern "C" fn on_progress(user: *mut sys::c_void, done: u64, total: u64) -> i32 {
    let watched = &mut *user.cast::<Watched<'_>>();
    let report = &mut watched.report;
    guarded(&mut watched.panic, 1, || stop_code(report(done, total)))
}

/// A call that takes an optional progress hook.
pub(crate) fn watch<'a>(
    progress: Option<&'a mut Progress<'a>>,
    call: impl FnOnce(*const sys::ggufx_progress, *mut sys::ggufx_error) -> sys::ggufx_status,
) -> Result<()> {
    let report = match progress {
        None => return check(|e| call(null(), e)),
        Some(report) => report,
    };
    let mut watched = Watched { report, panic: None };
    let hook = sys::ggufx_progress {
        struct_size: size::<sys::ggufx_progress>(),
        flags: 0,
        next: null(),
        user: (&mut watched as *mut Watched<'_>).cast(),
        report: Some(on_progress),
    };
    let result = check(|e| call(&hook, e));
    rethrow(watched.panic);
    result
}
