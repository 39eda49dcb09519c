//! Sources of a file other than a path.
// SPDX-License-Identifier: MIT
use crate::handle::sized;
use crate::watch::{blank, status};
use ggufx_sys as sys;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Bytes that are read by position. Read on the opening thread only, dropped with the file.
pub trait ReadAt: Send + 'static {
    /// Bytes there are.
    fn size(&mut self) -> io::Result<u64>;
    /// Fill all of `buffer` from `offset` on.
    fn read_exact_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

#[cfg(unix)]
impl ReadAt for std::fs::File {
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
    fn read_exact_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }
}

/// A panic in a reader fails the call.
pub(crate) fn shielded(run: impl FnOnce() -> io::Result<()>) -> sys::ggufx_status {
    catch_unwind(AssertUnwindSafe(run)).map_or(sys::GGUFX_E_IO, status)
}

unsafe extern "C" fn source_size(user: *mut sys::c_void, out: *mut u64) -> sys::ggufx_status {
    let reader = &mut *user.cast::<Box<dyn ReadAt>>();
    shielded(|| reader.size().map(|n| *out = n))
}
unsafe extern "C" fn source_read(
    user: *mut sys::c_void,
    offset: u64,
    dst: *mut sys::c_void,
    n: usize,
) -> sys::ggufx_status {
    let (reader, buffer) = (&mut *user.cast::<Box<dyn ReadAt>>(), blank(dst, n));
    shielded(|| reader.read_exact_at(buffer, offset))
}
/// Drop what a hook has.
pub(crate) unsafe extern "C" fn destroy<T>(user: *mut sys::c_void) {
    let value = Box::from_raw(user.cast::<T>());
    let _ = catch_unwind(AssertUnwindSafe(move || drop(value)));
}

pub(crate) fn io_of(reader: Box<dyn ReadAt>) -> sys::ggufx_io {
    let mut raw = sized!(ggufx_io);
    raw.user = Box::into_raw(Box::new(reader)).cast();
    raw.size = Some(source_size);
    raw.read_at = Some(source_read);
    raw.close = Some(destroy::<Box<dyn ReadAt>>);
    raw
}

/// Memory that lives until the C side is done with it.
pub(crate) type Memory = Box<dyn AsRef<[u8]> + Send + Sync>;

/// The bytes, and the user pointer for [`RELEASE`].
pub(crate) fn lend(memory: Memory) -> (*const u8, usize, *mut sys::c_void) {
    let kept = Box::new(memory);
    let bytes = (**kept).as_ref();
    let (data, n) = (bytes.as_ptr(), bytes.len());
    (data, n, Box::into_raw(kept).cast())
}
pub(crate) const RELEASE: unsafe extern "C" fn(*mut sys::c_void) = destroy::<Memory>;
