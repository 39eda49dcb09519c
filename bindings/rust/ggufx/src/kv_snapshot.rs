//! Snapshots in streams and files.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::file::path_string;
use crate::watch::{guarded, rethrow, Panic};
use crate::Kv;
use ggufx_sys as sys;
use std::io::{ErrorKind, Read, Write};

pub(crate) type WriteFn =
    Option<unsafe extern "C" fn(*mut sys::c_void, *const sys::c_void, usize) -> sys::ggufx_status>;
pub(crate) type ReadFn =
    Option<unsafe extern "C" fn(*mut sys::c_void, *mut sys::c_void, usize) -> sys::ggufx_status>;

pub(crate) struct Saving<'a> {
    to: &'a mut dyn Write,
    pub(crate) panic: Panic,
}
impl<'a> Saving<'a> {
    pub(crate) fn new(to: &'a mut dyn Write) -> Self {
        Saving { to, panic: None }
    }
    /// C callbacks, valid while `self` is not moved.
    pub(crate) fn hook(&mut self) -> (WriteFn, *mut sys::c_void) {
        (Some(on_write), (self as *mut Saving<'_>).cast())
    }
}
unsafe extern "C" fn on_write(user: *mut sys::c_void, data: *const sys::c_void, n: usize) -> i32 {
    let state = &mut *user.cast::<Saving<'_>>();
    let bytes = std::slice::from_raw_parts(data.cast(), n);
    let to = &mut state.to;
    guarded(&mut state.panic, sys::GGUFX_E_IO, || match to.write_all(bytes) {
        Ok(()) => sys::GGUFX_OK,
        Err(_) => sys::GGUFX_E_IO,
    })
}

pub(crate) struct Loading<'a> {
    from: &'a mut dyn Read,
    pub(crate) panic: Panic,
}
impl<'a> Loading<'a> {
    pub(crate) fn new(from: &'a mut dyn Read) -> Self {
        Loading { from, panic: None }
    }
    /// C callbacks, valid while `self` is not moved.
    pub(crate) fn hook(&mut self) -> (ReadFn, *mut sys::c_void) {
        (Some(on_read), (self as *mut Loading<'_>).cast())
    }
}
unsafe extern "C" fn on_read(user: *mut sys::c_void, data: *mut sys::c_void, n: usize) -> i32 {
    let state = &mut *user.cast::<Loading<'_>>();
    std::ptr::write_bytes(data.cast::<u8>(), 0, n); // a reader may inspect the buffer
    let bytes = std::slice::from_raw_parts_mut(data.cast(), n);
    let from = &mut state.from;
    guarded(&mut state.panic, sys::GGUFX_E_IO, || match from.read_exact(bytes) {
        Ok(()) => sys::GGUFX_OK,
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => sys::GGUFX_E_TRUNCATED,
        Err(_) => sys::GGUFX_E_IO,
    })
}

/// Call that passes the parts of a snapshot to a function.
pub(crate) fn saved(
    to: &mut dyn Write,
    call: impl FnOnce(WriteFn, *mut sys::c_void, *mut sys::ggufx_error) -> sys::ggufx_status,
) -> Result<()> {
    let mut state = Saving::new(to);
    let (write, user) = state.hook();
    let result = check(|e| call(write, user, e));
    rethrow(state.panic);
    result
}
/// Call that gets the parts of a snapshot from a function.
pub(crate) fn loaded(
    from: &mut dyn Read,
    call: impl FnOnce(ReadFn, *mut sys::c_void, *mut sys::ggufx_error) -> sys::ggufx_status,
) -> Result<()> {
    let mut state = Loading::new(from);
    let (read, user) = state.hook();
    let result = check(|e| call(read, user, e));
    rethrow(state.panic);
    result
}

impl Kv {
    /// Write a snapshot of a sequence, or of all.
    pub fn save(&self, sequence: u32, to: &mut dyn Write) -> Result<()> {
        let kv = self.as_raw();
        saved(to, |write, user, e| unsafe { sys::ggufx_kv_save(kv, sequence, write, user, e) })
    }
    /// Replace a sequence, or all, by a snapshot; whole or not at all.
    pub fn load(&mut self, sequence: u32, from: &mut dyn Read) -> Result<()> {
        let kv = self.as_raw();
        loaded(from, |read, user, e| unsafe { sys::ggufx_kv_load(kv, sequence, read, user, e) })
    }
    /// Write a snapshot to a file, which is replaced whole or not at all.
    pub fn save_path(&self, sequence: u32, path: impl AsRef<std::path::Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        check(|e| unsafe {
            sys::ggufx_kv_save_path(self.as_raw(), sequence, path.as_ptr().cast(), e)
        })
    }
    /// [`Kv::load`] from a file.
    pub fn load_path(&mut self, sequence: u32, path: impl AsRef<std::path::Path>) -> Result<()> {
        let path = path_string(path.as_ref())?;
        check(|e| unsafe {
            sys::ggufx_kv_load_path(self.as_raw(), sequence, path.as_ptr().cast(), e)
        })
    }
}
