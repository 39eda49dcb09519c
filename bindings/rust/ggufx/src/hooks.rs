//! Hooks of a host: memory, messages, jobs. A panic in one never crosses the C side.
// SPDX-License-Identifier: MIT
use crate::handle::sized;
use crate::io::destroy;
use crate::LogLevel;
use ggufx_sys as sys;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;

/// Receiver of messages: their level and text.
pub type LogSink = dyn Fn(LogLevel, &str) + Send + Sync;

/// The host's memory.
///
/// # Safety
/// `alloc` returns NULL or `size` bytes of the program's own, aligned to `align`, until `free`.
pub unsafe trait Allocator: Send + Sync {
    /// `size` bytes (never 0) aligned to `align` (a power of two), or NULL.
    fn alloc(&self, size: usize, align: usize) -> *mut u8;
    /// Free memory that `alloc` returned for the same numbers.
    ///
    /// # Safety
    /// `ptr` came from `alloc` and is not used any more.
    unsafe fn free(&self, ptr: *mut u8, size: usize, align: usize);
}

/// The host's job system.
///
/// # Safety
/// `worker` is below `max_workers`, and no two tasks run at once with one worker number.
pub unsafe trait Executor: Send + Sync {
    /// Workers there may be, at least 1.
    fn max_workers(&self) -> u32;
    /// Run `task(index, worker)` for each index below `n_tasks`, in any order, on any threads, and
    /// return when all have run.
    fn parallel_for(&self, n_tasks: u32, task: &(dyn Fn(u32, u32) + Sync));
}

/// Boxed state of a hook, so that its address fits a `void *`.
fn user_of<T: ?Sized>(hook: Box<T>) -> *mut sys::c_void {
    Box::into_raw(Box::new(hook)).cast()
}
unsafe extern "C" fn alloc(user: *mut sys::c_void, size: usize, align: usize) -> *mut sys::c_void {
    let hook = &*user.cast::<Box<dyn Allocator>>();
    catch_unwind(AssertUnwindSafe(|| hook.alloc(size, align))).unwrap_or(null_mut()).cast()
}
unsafe extern "C" fn free(
    user: *mut sys::c_void,
    ptr: *mut sys::c_void,
    size: usize,
    align: usize,
) {
    let hook = &*user.cast::<Box<dyn Allocator>>();
    let _ = catch_unwind(AssertUnwindSafe(|| hook.free(ptr.cast(), size, align)));
}
pub(crate) fn allocator(hook: Box<dyn Allocator>) -> sys::ggufx_allocator {
    let mut raw = sized!(ggufx_allocator);
    raw.user = user_of(hook);
    raw.alloc = Some(alloc);
    raw.free = Some(free);
    raw.destroy = Some(destroy::<Box<dyn Allocator>>);
    raw
}

unsafe extern "C" fn write(
    user: *mut sys::c_void,
    level: i32,
    text: *const sys::c_char,
    length: usize,
) {
    let hook = &*user.cast::<Box<LogSink>>();
    let text = String::from_utf8_lossy(crate::handle::items(text.cast(), length));
    let _ = catch_unwind(AssertUnwindSafe(|| hook(LogLevel(level), &text)));
}
pub(crate) fn log(hook: Box<LogSink>) -> sys::ggufx_log {
    let mut raw = sized!(ggufx_log);
    raw.user = user_of(hook);
    raw.write = Some(write);
    raw.destroy = Some(destroy::<Box<LogSink>>);
    raw
}

/// Context of the C side, which is thread-safe by contract.
struct Context(*mut sys::c_void);
unsafe impl Sync for Context {}
impl Context {
    fn get(&self) -> *mut sys::c_void {
        self.0
    }
}

unsafe extern "C" fn parallel_for(
    user: *mut sys::c_void,
    n_tasks: u32,
    task: Option<unsafe extern "C" fn(ctx: *mut sys::c_void, index: u32, worker: u32)>,
    ctx: *mut sys::c_void,
) -> sys::ggufx_status {
    let hook = &*user.cast::<Box<dyn Executor>>();
    let context = Context(ctx);
    let task = match task {
        Some(task) => task,
        None => return sys::GGUFX_E_ARGUMENT,
    };
    let run = move |index: u32, worker: u32| task(context.get(), index, worker);
    match catch_unwind(AssertUnwindSafe(|| hook.parallel_for(n_tasks, &run))) {
        Ok(()) => sys::GGUFX_OK,
        Err(_) => sys::GGUFX_E_INTERNAL,
    }
}
pub(crate) fn executor(hook: Box<dyn Executor>) -> sys::ggufx_executor {
    let mut raw = sized!(ggufx_executor);
    raw.max_workers = hook.max_workers();
    raw.user = user_of(hook);
    raw.parallel_for = Some(parallel_for);
    raw.destroy = Some(destroy::<Box<dyn Executor>>);
    raw
}
