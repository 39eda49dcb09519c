//! New files: arrays of numbers, and data generated during a write.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::sized;
use crate::io::{destroy, shielded};
use crate::tensor::dims;
use crate::watch::{blank, check};
use crate::{TensorType, ValueType, Writer};
use ggufx_sys as sys;
use std::io;

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

unsafe extern "C" fn stream_read(
    user: *mut sys::c_void,
    offset: u64,
    dst: *mut sys::c_void,
    n: usize,
) -> i32 {
    let (stream, buffer) = (&mut *user.cast::<Box<dyn Stream>>(), blank(dst, n));
    shielded(|| stream.read(offset, buffer))
}
impl Writer {
    /// Set a key to an array of numbers, whose type says their width: `u8` .. `f64`.
    pub fn set_array<T: Element>(&mut self, key: impl AsRef<[u8]>, elements: &[T]) -> Result<()> {
        let (w, key, from, n) =
            (self.as_raw(), key.as_ref(), elements.as_ptr().cast(), elements.len());
        let (key, n_key) = (key.as_ptr().cast(), key.len());
        check(|e| unsafe { sys::ggufx_writer_set_array(w, key, n_key, T::KIND.0, from, n, e) })
    }
    /// Add a tensor whose data are generated while the file is written. A panic fails the write
    /// (`IO`).
    pub fn add_stream(
        &mut self,
        name: impl AsRef<[u8]>,
        kind: TensorType,
        ne: &[u64],
        stream: impl Stream,
    ) -> Result<()> {
        let (dims, name) = (dims(ne)?, name.as_ref());
        let boxed: Box<dyn Stream> = Box::new(stream);
        let mut hook = sized!(ggufx_tensor_stream);
        hook.user = Box::into_raw(Box::new(boxed)).cast();
        hook.read = Some(stream_read);
        hook.destroy = Some(destroy::<Box<dyn Stream>>);
        let (w, at, n, ne) = (self.as_raw(), name.as_ptr().cast(), name.len(), ne.as_ptr());
        check(|e| unsafe { sys::ggufx_writer_add_stream(w, at, n, kind.0, dims, ne, &hook, e) })
    }
}

/// A number that arrays of metadata hold.
pub trait Element: sealed::Sealed + Copy {
    /// Its type in files.
    const KIND: ValueType;
}
mod sealed {
    pub trait Sealed {}
}
macro_rules! elements {
    ($($type:ty = $kind:ident,)*) => {
        $(impl sealed::Sealed for $type {}
        impl Element for $type {
            const KIND: ValueType = ValueType::$kind;
        })*
    };
}
elements! { u8 = U8, i8 = I8, u16 = U16, i16 = I16, u32 = U32, i32 = I32, u64 = U64, i64 = I64,
f32 = F32, f64 = F64, bool = BOOL, }
