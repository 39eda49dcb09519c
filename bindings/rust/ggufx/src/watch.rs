//! Functions of the program that the C side calls. A panic in one ends the call, and goes on after it.
// SPDX-License-Identifier: MIT
use crate::error::{from_record, Result};
use ggufx_sys as sys;
use std::any::Any;
use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;

/// Called during a long call, on its thread, with what is done and the total (0: unknown);
/// `Break` ends it with [`Status::CANCELLED`](crate::Status::CANCELLED).
pub type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

thread_local! {
    // The panic of a callback, while the C call returns: callbacks run on the thread of their call.
    static PANIC: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

/// Run a callback; after a panic, `stop` is returned to C.
pub(crate) fn guarded<T>(stop: T, run: impl FnOnce() -> T) -> T {
    if PANIC.try_with(|panic| panic.borrow().is_some()) != Ok(false) {
        return stop;
    }
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(value) => value,
        Err(payload) => {
            PANIC.with(|panic| *panic.borrow_mut() = Some(payload));
            stop
        }
    }
}

/// Go on with the panic of a callback.
pub(crate) fn rethrow() {
    if let Ok(Some(payload)) = PANIC.try_with(|panic| panic.borrow_mut().take()) {
        resume_unwind(payload);
    }
}

/// Run a call that fills an error record on failure; the record needs no preparation.
pub(crate) fn check(call: impl FnOnce(*mut sys::ggufx_error) -> sys::ggufx_status) -> Result<()> {
    let mut record = MaybeUninit::<sys::ggufx_error>::uninit();
    let status = call(record.as_mut_ptr());
    if status == sys::GGUFX_OK {
        return Ok(());
    }
    rethrow();
    // SAFETY: every failing call fills the record it was given.
    Err(unsafe { from_record(status, record.as_ptr()) })
}

/// The same with callbacks that cannot make the call fail.
pub(crate) fn watched(call: impl FnOnce(*mut sys::ggufx_error) -> sys::ggufx_status) -> Result<()> {
    let result = check(call);
    rethrow();
    result
}

/// The result of a callback for C: 0, or a number that ends the call.
pub(crate) fn flow(flow: ControlFlow<()>) -> i32 {
    if flow.is_break() {
        return sys::GGUFX_E_CANCELLED;
    }
    sys::GGUFX_OK
}

/// The result of a callback that reads or writes.
pub(crate) fn status(result: io::Result<()>) -> sys::ggufx_status {
    match result {
        Ok(()) => sys::GGUFX_OK,
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => sys::GGUFX_E_TRUNCATED,
        Err(_) => sys::GGUFX_E_IO,
    }
}

/// Memory of the C side as a slice; it is zeroed, because a reader may inspect it.
///
/// # Safety
/// `n` bytes at `data` may be written, and live for 'a.
pub(crate) unsafe fn blank<'a>(data: *mut sys::c_void, n: usize) -> &'a mut [u8] {
    if n == 0 {
        return &mut [];
    }
    std::ptr::write_bytes(data.cast::<u8>(), 0, n);
    std::slice::from_raw_parts_mut(data.cast(), n)
}

pub(crate) unsafe extern "C" fn on_progress(user: *mut sys::c_void, done: u64, total: u64) -> i32 {
    let report = (*user.cast::<NonNull<Progress<'_>>>()).as_mut();
    guarded(sys::GGUFX_E_CANCELLED, || flow(report(done, total)))
}

pub(crate) unsafe extern "C" fn on_write(
    user: *mut sys::c_void,
    data: *const sys::c_void,
    n: usize,
) -> sys::ggufx_status {
    let to = &mut *user.cast::<&mut dyn Write>();
    let bytes = crate::handle::items(data.cast(), n);
    guarded(sys::GGUFX_E_IO, || status(to.write_all(bytes)))
}

pub(crate) unsafe extern "C" fn on_read(
    user: *mut sys::c_void,
    data: *mut sys::c_void,
    n: usize,
) -> sys::ggufx_status {
    let from = &mut *user.cast::<&mut dyn Read>();
    let bytes = blank(data, n);
    guarded(sys::GGUFX_E_IO, || status(from.read_exact(bytes)))
}
