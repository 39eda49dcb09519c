//! How a runtime is created: its hooks, and the library that is loaded.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::hooks::{allocator, executor, log, Allocator, Executor, LogSink};
use crate::watch::check;
use crate::{Runtime, RuntimeOptions, Status};
use ggufx_sys as sys;

/// Hooks of a host; each of them may be absent.
#[derive(Default)]
pub struct Hooks {
    /// Takes memory from the host.
    pub allocator: Option<Box<dyn Allocator>>,
    /// Gets messages; may be called on any thread.
    pub log: Option<Box<LogSink>>,
    /// Runs tasks on the host's threads.
    pub executor: Option<Box<dyn Executor>>,
}

impl Runtime {
    /// A runtime with default options.
    pub fn new() -> Result<Self> {
        Self::with(RuntimeOptions::default(), Hooks::default())
    }
    /// A runtime with options, and hooks of the host. Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`;
    /// `VERSION` when the library does not fit these bindings.
    pub fn with(options: RuntimeOptions, hooks: Hooks) -> Result<Self> {
        check_library()?;
        let (mut raw, mut out) = (options.raw(), std::ptr::null_mut());
        let allocator = hooks.allocator.map(allocator);
        let log = hooks.log.map(log);
        let executor = hooks.executor.map(executor);
        raw.allocator = allocator.as_ref().map_or(std::ptr::null(), |a| a);
        raw.log = log.as_ref().map_or(std::ptr::null(), |l| l);
        raw.executor = executor.as_ref().map_or(std::ptr::null(), |x| x);
        // The C side destroys the hooks, also after a failure.
        check(|e| unsafe { sys::ggufx_runtime_create(&mut out, &raw, e) })?;
        Ok(Runtime::of_raw(out))
    }
}

/// Load the library where that is asked for, and compare versions and sizes.
fn check_library() -> Result<()> {
    #[cfg(feature = "dlopen")]
    unsafe {
        sys::load("libggufx.so.0\0").map_err(|missing| {
            Error::new(Status::NOT_FOUND, format!("cannot load {}", missing.trim_end_matches('\0')))
        })?;
    }
    let abi = unsafe { sys::ggufx_abi_version() };
    if abi != sys::GGUFX_ABI_VERSION {
        let text = format!("the library has ABI {}, not {}", abi, sys::GGUFX_ABI_VERSION);
        return Err(Error::new(Status::VERSION, text));
    }
    let record = unsafe { sys::ggufx_struct_size("ggufx_error\0".as_ptr().cast()) };
    if record != std::mem::size_of::<sys::ggufx_error>() {
        return Err(Error::new(Status::VERSION, format!("its ggufx_error has {} bytes", record)));
    }
    Ok(())
}
