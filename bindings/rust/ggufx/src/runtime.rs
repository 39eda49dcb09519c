//! Runtime: hooks and the selected kernels, shared by all objects created from it.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Error, Result};
use crate::handle::{create, handle, sized};
use crate::hooks::{allocator, executor, log, Allocator, Executor, LogSink};
use crate::{CpuFeatures, Isa, LogLevel, Status, TensorType};
use ggufx_sys as sys;

handle! {
    /// Allocator, log, executor and the chosen kernels; objects made from it keep it alive.
    Runtime(ggufx_runtime, ggufx_runtime_destroy) sync
}

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
        let raw = create(|out, e| unsafe { sys::ggufx_runtime_create(out, &options, e) })?;
        Ok(Runtime { raw })
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

/// Facts of a runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeInfo {
    /// Instruction set in use.
    pub isa: Isa,
    /// Its name.
    pub isa_name: &'static str,
    /// Workers a call may use.
    pub threads: u32,
    /// Detected instruction sets.
    pub features: CpuFeatures,
    /// "mimalloc", "system" or "host".
    pub allocator_name: &'static str,
    /// Workspace per concurrent call.
    pub workspace_bytes: u64,
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
    /// Describe the runtime.
    pub fn info(&self) -> Result<RuntimeInfo> {
        let mut out = sized!(ggufx_runtime_facts);
        check(|e| unsafe { sys::ggufx_runtime_info(&mut out, self.as_raw(), e) })?;
        Ok(RuntimeInfo {
            isa: Isa(out.isa),
            isa_name: unsafe { forever(out.isa_name) },
            threads: out.threads,
            features: CpuFeatures(out.features),
            allocator_name: unsafe { forever(out.allocator_name) },
            workspace_bytes: out.workspace_bytes,
        })
    }
    /// Instruction set of the kernel that serves a tensor type; None for an unknown type.
    pub fn kernel_name(&self, kind: TensorType) -> Option<&'static str> {
        let name = unsafe { sys::ggufx_runtime_kernel_name(self.as_raw(), kind.0) };
        if name.is_null() {
            return None;
        }
        Some(unsafe { forever(name) })
    }
}
