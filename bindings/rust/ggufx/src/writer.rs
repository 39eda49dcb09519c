//! New files: their keys and tensors.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::{create, handle, sized};
use crate::{File, MetaType, Runtime, Tensor, WriterFlags};
use ggufx_sys as sys;

handle! {
    /// A file to be: keys and tensors in the order they were added.
    Writer(ggufx_writer, ggufx_writer_destroy) sync
}

/// Options of a file; 0 is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriterOptions {
    /// Flags.
    pub flags: WriterFlags,
    /// 2 or 3; 0: 3.
    pub version: u32,
    /// Room for later edits.
    pub reserve_bytes: u64,
}

impl Writer {
    /// An empty writer. Errors: `ARGUMENT`, `MEMORY`, `VERSION`.
    pub fn new(rt: &Runtime, options: WriterOptions) -> Result<Self> {
        let mut raw = sized!(ggufx_writer_options);
        raw.flags = options.flags.0;
        raw.version = options.version;
        raw.reserve_bytes = options.reserve_bytes;
        let raw = create(|out, e| unsafe {
            sys::ggufx_writer_create(out, rt.as_raw(), &raw, e)
        })?;
        Ok(Writer { raw })
    }
    /// Set a key to an integer of the given type. Errors: `ARGUMENT`, `KEY`, `VALUE`, `KVTYPE`,
    /// `ALIGNMENT`, `LIMIT`, `MEMORY`.
    pub fn set_u64(&mut self, key: &str, kind: MetaType, value: u64) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        check(|e| unsafe { sys::ggufx_writer_set_u64(w, k, n, kind.0, value, e) })
    }
    /// As [`Writer::set_u64`], signed.
    pub fn set_i64(&mut self, key: &str, kind: MetaType, value: i64) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        check(|e| unsafe { sys::ggufx_writer_set_i64(w, k, n, kind.0, value, e) })
    }
    /// As [`Writer::set_u64`], of type F32 or F64.
    pub fn set_f64(&mut self, key: &str, kind: MetaType, value: f64) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        check(|e| unsafe { sys::ggufx_writer_set_f64(w, k, n, kind.0, value, e) })
    }
    /// Set a key to a bool.
    pub fn set_bool(&mut self, key: &str, value: bool) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        check(|e| unsafe { sys::ggufx_writer_set_bool(w, k, n, value as i32, e) })
    }
    /// Set a key to a string of any bytes.
    pub fn set_str(&mut self, key: &str, text: impl AsRef<[u8]>) -> Result<()> {
        let (w, k, n, text) = (self.as_raw(), key.as_ptr().cast(), key.len(), text.as_ref());
        check(|e| unsafe {
            sys::ggufx_writer_set_string(w, k, n, text.as_ptr().cast(), text.len(), e)
        })
    }
    /// Set a key to an array of numbers, whose type says their width: `u8` .. `f64`.
    pub fn set_array<T: Element>(&mut self, key: &str, elements: &[T]) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        let (from, count) = (elements.as_ptr().cast(), elements.len());
        check(|e| unsafe { sys::ggufx_writer_set_array(w, k, n, T::KIND.0, from, count, e) })
    }
    /// Set a key to an array of strings.
    pub fn set_strings<T: AsRef<[u8]>>(&mut self, key: &str, texts: &[T]) -> Result<()> {
        let at: Vec<*const sys::c_char> = texts.iter().map(|t| t.as_ref().as_ptr().cast()).collect();
        let lengths: Vec<usize> = texts.iter().map(|t| t.as_ref().len()).collect();
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        let (at, lengths, count) = (at.as_ptr(), lengths.as_ptr(), texts.len());
        check(|e| unsafe { sys::ggufx_writer_set_array_string(w, k, n, at, lengths, count, e) })
    }
    /// Set a key to a value of any type, given as bytes of a little-endian file.
    pub fn set_value(&mut self, key: &str, kind: MetaType, value: &[u8]) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        let (from, n_bytes) = (value.as_ptr().cast(), value.len());
        check(|e| unsafe { sys::ggufx_writer_set_value(w, k, n, kind.0, from, n_bytes, e) })
    }
    /// Remove a key. Errors: `NOT_FOUND`.
    pub fn unset(&mut self, key: &str) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        check(|e| unsafe { sys::ggufx_writer_unset(w, k, n, e) })
    }
    /// Rename a key. Errors: `NOT_FOUND`, `KEY`, `DUPLICATE`, ...
    pub fn rename(&mut self, key: &str, new_key: &str) -> Result<()> {
        let (w, k, n) = (self.as_raw(), key.as_ptr().cast(), key.len());
        let (to, n_to) = (new_key.as_ptr().cast(), new_key.len());
        check(|e| unsafe { sys::ggufx_writer_rename(w, k, n, to, n_to, e) })
    }
    /// Set all keys of a file.
    pub fn copy_meta(&mut self, file: &File) -> Result<()> {
        check(|e| unsafe { sys::ggufx_writer_copy_meta(self.as_raw(), file.as_raw(), e) })
    }
    /// Add a tensor, under its own name or another; its data are kept alive.
    pub fn add_tensor(&mut self, tensor: &Tensor<'_>, name: Option<&str>) -> Result<()> {
        let (at, n) = name.map_or((std::ptr::null(), 0), |s| (s.as_ptr().cast(), s.len()));
        let (writer, tensor) = (self.as_raw(), tensor.as_raw());
        check(|e| unsafe { sys::ggufx_writer_add_tensor(writer, tensor, at, n, e) })
    }
    /// Add all tensors of a file, or none.
    pub fn copy_tensors(&mut self, file: &File) -> Result<()> {
        check(|e| unsafe { sys::ggufx_writer_copy_tensors(self.as_raw(), file.as_raw(), e) })
    }
    /// Set the keys and add the tensors of a file for one of `n_ranks` ranks of a group: the rows that
    /// it reads, or its layers where the group has whole ones. Speeds of all ranks; `None`: all the same.
    pub fn copy_rank(
        &mut self,
        file: &File,
        rank: u32,
        n_ranks: u32,
        speeds: Option<&[u32]>,
        layers: bool,
    ) -> Result<()> {
        if let Some(s) = speeds.filter(|s| s.len() != n_ranks as usize) {
            return Err(Error::argument(format!("{} speeds of {} ranks", s.len(), n_ranks)));
        }
        let (w, f) = (self.as_raw(), file.as_raw());
        let speeds = speeds.map_or(std::ptr::null(), <[u32]>::as_ptr);
        let flags = if layers { sys::GGUFX_GROUP_LAYERS } else { 0 };
        check(|e| unsafe { sys::ggufx_writer_copy_rank(w, f, rank, n_ranks, speeds, flags, e) })
    }
    pub(crate) fn dims(ne: &[u64]) -> Result<u32> {
        if ne.len() > 4 {
            return Err(Error::argument(format!("{} dimensions, at most 4", ne.len())));
        }
        Ok(ne.len() as u32)
    }
}

/// A number that arrays of metadata hold.
pub trait Element: sealed::Sealed + Copy {
    /// Its type in files.
    const KIND: MetaType;
}
mod sealed {
    pub trait Sealed {}
}
macro_rules! elements {
    ($($type:ty = $kind:ident,)*) => {
        $(impl sealed::Sealed for $type {}
        impl Element for $type {
            const KIND: MetaType = MetaType::$kind;
        })*
    };
}
elements! { u8 = U8, i8 = I8, u16 = U16, i16 = I16, u32 = U32, i32 = I32, u64 = U64, i64 = I64,
f32 = F32, f64 = F64, bool = BOOL, }
