//! How a runtime is created: its hooks, and the library that is loaded.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::handle::sized;
use crate::hooks::{allocator, executor, log, Allocator, Executor, LogSink};
use crate::watch::check;
use crate::{Isa, LogLevel, Runtime, Status};
use ggufx_sys as sys;

/// Options of a [`Runtime`]; all unset is the default.
#[derive(Default)]
pub struct RuntimeOptions {
    threads: u32,
    isa: Option<Isa>,
    workspace_bytes: u64,
    allocator: Option<Box<dyn Allocator>>,
    log: Option<Box<LogSink>>,
    executor: Option<Box<dyn Executor>>,
}

impl RuntimeOptions {
    /// Number of threads, including the caller; 0: one per usable processor.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }
    /// Use a lower instruction set than there is.
    pub fn isa(mut self, isa: Isa) -> Self {
        self.isa = Some(isa);
        self
    }
    /// Workspace per concurrent call; 0: default.
    pub fn workspace_bytes(mut self, bytes: u64) -> Self {
        self.workspace_bytes = bytes;
        self
    }
    /// Take memory from the host.
    pub fn allocator(mut self, allocator: impl Allocator + 'static) -> Self {
        self.allocator = Some(Box::new(allocator));
        self
    }
    /// Log callback; may be called on any thread.
    pub fn log(mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }
    /// Run tasks on the host's threads.
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }
    /// Create the runtime. Errors: `ARGUMENT`, `MEMORY`, `UNSUPPORTED`; `VERSION` when the library
    /// does not fit these bindings.
    pub fn create(self) -> Result<Runtime> {
        check_library()?;
        let allocator = self.allocator.map(allocator);
        let log = self.log.map(log);
        let executor = self.executor.map(executor);
        let mut options = sized!(ggufx_runtime_options);
        options.threads = self.threads;
        options.isa = self.isa.map_or(0, |isa| isa.0);
        options.workspace_bytes = self.workspace_bytes;
        options.allocator = allocator.as_ref().map_or(std::ptr::null(), |a| a);
        options.log = log.as_ref().map_or(std::ptr::null(), |l| l);
        options.executor = executor.as_ref().map_or(std::ptr::null(), |x| x);
        // The C side destroys the hooks, also after a failure.
        let mut out = std::ptr::null_mut();
        check(|e| unsafe { sys::ggufx_runtime_create(&mut out, &options, e) })?;
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
    let record = unsafe { sys::ggufx_abi_layout("ggufx_error\0".as_ptr().cast()) };
    if record != std::mem::size_of::<sys::ggufx_error>() {
        return Err(Error::new(Status::VERSION, format!("its ggufx_error has {} bytes", record)));
    }
    Ok(())
}

impl Runtime {
    /// A runtime with default options.
    pub fn new() -> Result<Self> {
        RuntimeOptions::default().create()
    }
    /// Options to set before [`RuntimeOptions::create`].
    pub fn options() -> RuntimeOptions {
        RuntimeOptions::default()
    }
}
