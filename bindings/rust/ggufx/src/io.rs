//! Sources of a file other than a path.
// SPDX-License-Identifier: MIT
use crate::handle::size;
use crate::watch::{guarded, Panic};
use ggufx_sys as sys;
use std::io;
use std::ptr::null;

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

pub(crate) struct Source {
    reader: Box<dyn ReadAt>,
    panic: Panic,
}

fn status_of(result: io::Result<()>) -> i32 {
    match result {
        Ok(()) => sys::GGUFX_OK,
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => sys::GGUFX_E_TRUNCATED,
        Err(_) => sys::GGUFX_E_IO,
    }
}

unsafe extern "C" fn source_size(user: *mut sys::c_void, out: *mut u64) -> i32 {
    let source = &mut *user.cast::<Source>();
    let reader = &mut source.reader;
    guarded(&mut source.panic, sys::GGUFX_E_IO, || status_of(reader.size().map(|n| *out = n)))
}
unsafe extern "C" fn source_read(
    user: *mut sys::c_void,
    offset: u64,
    dst: *mut sys::c_void,
    n: usize,
) -> i32 {
    let source = &mut *user.cast::<Source>();
    let reader = &mut source.reader;
    std::ptr::write_bytes(dst.cast::<u8>(), 0, n); // a reader may inspect the buffer
    let buffer = std::slice::from_raw_parts_mut(dst.cast::<u8>(), n);
    guarded(&mut source.panic, sys::GGUFX_E_IO, || status_of(reader.read_exact_at(buffer, offset)))
}
unsafe extern "C" fn source_close(user: *mut sys::c_void) {
    let source = Box::from_raw(user.cast::<Source>());
    let mut ignored = None;
    guarded(&mut ignored, (), move || drop(source));
}

pub(crate) fn io_of(reader: Box<dyn ReadAt>) -> sys::ggufx_io {
    sys::ggufx_io {
        struct_size: size::<sys::ggufx_io>(),
        flags: 0,
        next: null(),
        user: Box::into_raw(Box::new(Source { reader, panic: None })).cast(),
        size: Some(source_size),
        read_at: Some(source_read),
        map: None,
        unmap: None,
        close: Some(source_close),
    }
}

/// Memory that lives until the C side is done with it.
pub(crate) type Memory = Box<dyn AsRef<[u8]> + Send + Sync>;

/// The bytes, and the user pointer for [`release`].
pub(crate) fn lend(memory: Memory) -> (*const u8, usize, *mut sys::c_void) {
    let kept = Box::new(memory);
    let bytes = (**kept).as_ref();
    let (data, n) = (bytes.as_ptr(), bytes.len());
    (data, n, Box::into_raw(kept).cast())
}
pub(crate) unsafe extern "C" fn release(user: *mut sys::c_void) {
    let memory = Box::from_raw(user.cast::<Memory>());
    let mut ignored = None;
    guarded(&mut ignored, (), move || drop(memory));
}
