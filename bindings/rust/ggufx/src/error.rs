//! Failures: the code of the C interface, its sentence and where.
// SPDX-License-Identifier: MIT
use crate::handle::present;
use crate::Status;
use ggufx_sys as sys;
use std::ffi::CStr;

/// Status of a library call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    system_error: i32,
    offset: Option<u64>,
    index: Option<u64>,
    value: u64,
    limit: u64,
    message: String,
}

impl Error {
    /// A failure found by these bindings themselves.
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        let message = message.into();
        Error { status, system_error: 0, offset: None, index: None, value: 0, limit: 0, message }
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
    /// The number that was too large, for `CAPACITY` and `LIMIT`.
    pub fn value(&self) -> u64 {
        self.value
    }
    /// The most that it may be.
    pub fn limit(&self) -> u64 {
        self.limit
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
        crate::status_name(self).unwrap_or("")
    }
}

/// # Safety
/// The record is that of a call that failed.
#[cold]
pub(crate) unsafe fn from_record(status: i32, record: *const sys::ggufx_error) -> Error {
    let text = CStr::from_ptr(std::ptr::addr_of!((*record).message).cast());
    Error {
        status: Status(status),
        system_error: (*record).system_error,
        offset: present((*record).offset),
        index: present((*record).index),
        value: (*record).value,
        limit: (*record).limit,
        message: text.to_string_lossy().into_owned(),
    }
}
