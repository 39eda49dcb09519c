//! Failures: the code of the C interface, its sentence and where.
// SPDX-License-Identifier: MIT
use crate::Status;
use ggufx_sys as sys;
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// Status of a library call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    system_error: i32,
    offset: Option<u64>,
    index: Option<u64>,
    message: String,
}

impl Error {
    /// A failure found by these bindings themselves.
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Error { status, system_error: 0, offset: None, index: None, message: message.into() }
    }
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(Status::ARGUMENT, message)
    }
    /// The code.
    pub fn status(&self) -> Status {
        self.status
    }
    /// errno of the system call that failed, else 0.
    pub fn system_error(&self) -> i32 {
        self.system_error
    }
    /// Byte offset in the file of the field at fault.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }
    /// Number of the key, tensor, row, token or argument at fault.
    pub fn index(&self) -> Option<u64> {
        self.index
    }
    /// Message: the object, the location, the value and the limit.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.status.name(), self.message)
    }
}
impl std::error::Error for Error {}

impl Status {
    /// Name of the code without its prefix, "TRUNCATED".
    pub fn name(self) -> &'static str {
        // SAFETY: the string is static and never NULL.
        unsafe { forever(sys::ggufx_status_name(self.0)) }
    }
}

/// Static string of the library.
///
/// # Safety
/// `text` is such a text, or NULL.
pub(crate) unsafe fn forever(text: *const sys::c_char) -> &'static str {
    crate::handle::until_nul(text)
}

/// Run a call that fills an error record on failure; the record needs no preparation.
pub(crate) fn check(call: impl FnOnce(*mut sys::ggufx_error) -> sys::ggufx_status) -> Result<()> {
    let mut record = MaybeUninit::<sys::ggufx_error>::uninit();
    let status = call(record.as_mut_ptr());
    if status == sys::GGUFX_OK {
        return Ok(());
    }
    // SAFETY: every failing call fills the record it was given.
    Err(unsafe { from_record(status, record.as_ptr()) })
}

#[cold]
unsafe fn from_record(status: i32, record: *const sys::ggufx_error) -> Error {
    let text = CStr::from_ptr(std::ptr::addr_of!((*record).message).cast());
    let present = |v: u64| if v == sys::GGUFX_NONE { None } else { Some(v) };
    Error {
        status: Status(status),
        system_error: (*record).system_error,
        offset: present((*record).offset),
        index: present((*record).index),
        message: text.to_string_lossy().into_owned(),
    }
}
