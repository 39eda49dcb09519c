//! Writing of new files, and data generated during a write.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::file::path_string;
use crate::handle::{size, sized};
use crate::watch::{guarded, rethrow, watch, Panic, Progress};
use crate::{TensorType, Writer};
use ggufx_sys as sys;
use std::io;
use std::ptr::null;

/// Tensor data generated while its file is written, again at each write.
pub trait Stream: Send + 'static {
    /// Fill `buffer` with bytes `offset ..` of the dense tensor, little-endian blocks as in files.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}
impl<F: FnMut(u64, &mut [u8]) -> io::Result<()> + Send + 'static> Stream for F {
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self(offset, buffer)
    }
}

/// How a file is written; the default is one file.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// Bytes of a part at most; 0: no limit.
    pub max_part_bytes: u64,
    /// Tensors of a part at most; 0: no limit.
    pub max_part_tensors: u64,
    /// Sees bytes, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

/// Result of a write; see `ggufx_writer_facts`.
pub type WriterInfo = sys::ggufx_writer_facts;

impl WriteOptions<'_> {
    fn run(
        self,
        call: impl FnOnce(*const sys::ggufx_write_options, *mut sys::ggufx_error) -> i32,
    ) -> Result<()> {
        let mut raw = sized!(ggufx_write_options);
        raw.max_part_bytes = self.max_part_bytes;
        raw.max_part_tensors = self.max_part_tensors;
        watch(self.progress, |progress, e| {
            raw.progress = progress;
            call(&raw, e)
        })
    }
}

unsafe extern "C" fn stream_read(
    user: *mut sys::c_void,
    offset: u64,
    dst: *mut sys::c_void,
    n: usize,
) -> i32 {
    let stream = &mut *user.cast::<Box<dyn Stream>>();
    std::ptr::write_bytes(dst.cast::<u8>(), 0, n); // a stream may inspect the buffer
    let buffer = std::slice::from_raw_parts_mut(dst.cast::<u8>(), n);
    let mut panic = None;
    let done = guarded(&mut panic, Err(io::ErrorKind::Other.into()), || stream.read(offset, buffer));
    match done {
        Ok(()) => sys::GGUFX_OK,
        Err(_) => sys::GGUFX_E_IO,
    }
}
unsafe extern "C" fn stream_destroy(user: *mut sys::c_void) {
    let stream = Box::from_raw(user.cast::<Box<dyn Stream>>());
    let mut ignored = None;
    guarded(&mut ignored, (), move || drop(stream));
}

struct Sink<'a> {
    write: &'a mut dyn FnMut(u32, &[u8]) -> io::Result<()>,
    panic: Panic,
}
unsafe extern "C" fn on_write(
    user: *mut sys::c_void,
    part: u32,
    data: *const sys::c_void,
    n: usize,
) -> i32 {
    let sink = &mut *user.cast::<Sink<'_>>();
    let bytes = std::slice::from_raw_parts(data.cast(), n);
    let write = &mut sink.write;
    guarded(&mut sink.panic, sys::GGUFX_E_IO, || match write(part, bytes) {
        Ok(()) => sys::GGUFX_OK,
        Err(_) => sys::GGUFX_E_IO,
    })
}

impl Writer {
    /// Add a tensor whose data are generated while the file is written. A panic fails the write
    /// (`IO`).
    pub fn add_stream(
        &mut self,
        name: &str,
        kind: TensorType,
        ne: &[u64],
        stream: impl Stream,
    ) -> Result<()> {
        let dims = Writer::dims(ne)?;
        let boxed: Box<dyn Stream> = Box::new(stream);
        let hook = sys::ggufx_tensor_stream {
            struct_size: size::<sys::ggufx_tensor_stream>(),
            flags: 0,
            next: null(),
            user: Box::into_raw(Box::new(boxed)).cast(),
            read: Some(stream_read),
            destroy: Some(stream_destroy),
        };
        let (w, at, n) = (self.as_raw(), name.as_ptr().cast(), name.len());
        check(|e| unsafe {
            sys::ggufx_writer_add_stream(w, at, n, kind.0, dims, ne.as_ptr(), &hook, e)
        })
    }
    /// Describes the result of a write with these options.
    pub fn info(&self, options: WriteOptions<'_>) -> Result<WriterInfo> {
        let mut out = sized!(ggufx_writer_facts);
        options.run(|o, e| unsafe { sys::ggufx_writer_info(&mut out, self.as_raw(), o, e) })?;
        Ok(out)
    }
    /// Write to a path, whole or not at all. Errors: `IO`, `STATE`, `CANCELLED`, `LIMIT`, ...
    pub fn write(
        &mut self,
        path: impl AsRef<std::path::Path>,
        options: WriteOptions<'_>,
    ) -> Result<()> {
        let (path, w) = (path_string(path.as_ref())?, self.as_raw());
        options.run(|o, e| unsafe { sys::ggufx_writer_write(w, path.as_ptr().cast(), o, e) })
    }
    /// Write through a callback: the part's number and its next bytes.
    pub fn write_to(
        &mut self,
        write: &mut dyn FnMut(u32, &[u8]) -> io::Result<()>,
        options: WriteOptions<'_>,
    ) -> Result<()> {
        let mut sink = Sink { write, panic: None };
        let (user, w) = ((&mut sink as *mut Sink<'_>).cast(), self.as_raw());
        let result = options.run(|o, e| unsafe {
            sys::ggufx_writer_write_stream(w, Some(on_write), user, o, e)
        });
        rethrow(sink.panic);
        result
    }
}
