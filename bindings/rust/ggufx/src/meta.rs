//! Keys and values of a file.
// SPDX-License-Identifier: MIT
use crate::error::{check, Error, Result};
use crate::handle::{bytes, sized};
use crate::{File, MetaType, Status};
use ggufx_sys as sys;

/// A key and its value.
#[derive(Clone, Copy)]
pub struct Meta<'f> {
    file: &'f File,
    index: usize,
}


impl<'f> Meta<'f> {
    pub(crate) fn new(file: &'f File, index: usize) -> Self {
        Meta { file, index }
    }
    fn entry(&self) -> Result<sys::ggufx_meta_entry> {
        let mut out = sized!(ggufx_meta_entry);
        check(|e| unsafe { sys::ggufx_file_meta_at(&mut out, self.file.as_raw(), self.index, e) })?;
        Ok(out)
    }
    fn scalar<T: Default>(
        &self,
        get: impl FnOnce(*mut T, *const sys::ggufx_file, usize, *mut sys::ggufx_error) -> i32,
    ) -> Result<T> {
        let mut out = T::default();
        check(|e| get(&mut out, self.file.as_raw(), self.index, e))?;
        Ok(out)
    }
    /// Its number in the file.
    pub fn index(&self) -> usize {
        self.index
    }
    /// The key, any bytes; empty for a nested array.
    pub fn key_bytes(&self) -> &'f [u8] {
        self.entry().map_or(&[], |e| unsafe { bytes(e.key, e.key_length) })
    }
    /// The key, when it is UTF-8.
    pub fn key(&self) -> &'f str {
        std::str::from_utf8(self.key_bytes()).unwrap_or("")
    }
    /// Type of the value.
    pub fn kind(&self) -> MetaType {
        MetaType(self.entry().map_or(-1, |e| e.type_))
    }
    /// Type of an array's elements.
    pub fn element_kind(&self) -> Option<MetaType> {
        self.entry().ok().filter(|e| e.element_type >= 0).map(|e| MetaType(e.element_type))
    }
    /// Elements of an array, bytes of a string, else 1.
    pub fn count(&self) -> u64 {
        self.entry().map_or(0, |e| e.count)
    }
    /// Offset of the value in the file.
    pub fn offset(&self) -> u64 {
        self.entry().map_or(0, |e| e.offset)
    }
    /// An integer that fits. Errors: `KVTYPE`, `VALUE`.
    pub fn u64(&self) -> Result<u64> {
        self.scalar(|o, f, i, e| unsafe { sys::ggufx_file_meta_u64(o, f, i, e) })
    }
    /// An integer that fits. Errors: `KVTYPE`, `VALUE`.
    pub fn i64(&self) -> Result<i64> {
        self.scalar(|o, f, i, e| unsafe { sys::ggufx_file_meta_i64(o, f, i, e) })
    }
    /// A number that loses nothing. Errors: `KVTYPE`, `VALUE`.
    pub fn f64(&self) -> Result<f64> {
        self.scalar(|o, f, i, e| unsafe { sys::ggufx_file_meta_f64(o, f, i, e) })
    }
    /// A bool. Errors: `KVTYPE`.
    pub fn bool(&self) -> Result<bool> {
        self.scalar(|o, f, i, e| unsafe { sys::ggufx_file_meta_bool(o, f, i, e) }).map(|v: i32| v != 0)
    }
    /// A string's bytes. Errors: `KVTYPE`.
    pub fn bytes(&self) -> Result<&'f [u8]> {
        let (mut text, mut n) = (std::ptr::null(), 0);
        check(|e| unsafe {
            sys::ggufx_file_meta_string(&mut text, &mut n, self.file.as_raw(), self.index, e)
        })?;
        Ok(unsafe { bytes(text, n) })
    }
    /// A string. Errors: `KVTYPE`; `VALUE` when it is not UTF-8.
    pub fn str(&self) -> Result<&'f str> {
        std::str::from_utf8(self.bytes()?).map_err(|e| Error::new(Status::VALUE, e.to_string()))
    }
    /// Elements `first ..` of an array of numbers or bools.
    pub fn array_u64(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let (to, n) = (out.as_mut_ptr(), out.len());
        check(|e| unsafe {
            sys::ggufx_file_meta_array_u64(to, self.file.as_raw(), self.index, first, n, e)
        })
    }
    /// As [`Meta::array_u64`], signed.
    pub fn array_i64(&self, first: u64, out: &mut [i64]) -> Result<()> {
        let (to, n) = (out.as_mut_ptr(), out.len());
        check(|e| unsafe {
            sys::ggufx_file_meta_array_i64(to, self.file.as_raw(), self.index, first, n, e)
        })
    }
    /// As [`Meta::array_u64`], floating point.
    pub fn array_f64(&self, first: u64, out: &mut [f64]) -> Result<()> {
        let (to, n) = (out.as_mut_ptr(), out.len());
        check(|e| unsafe {
            sys::ggufx_file_meta_array_f64(to, self.file.as_raw(), self.index, first, n, e)
        })
    }
    /// String `i` of an array of strings.
    pub fn string(&self, i: u64) -> Result<&'f [u8]> {
        let (mut text, mut n) = (std::ptr::null(), 0);
        let file = self.file.as_raw();
        check(|e| unsafe {
            sys::ggufx_file_meta_array_string(&mut text, &mut n, file, self.index, i, e)
        })?;
        Ok(unsafe { bytes(text, n) })
    }
    /// All strings of an array of strings; ends early where one cannot be read.
    pub fn strings(&self) -> Strings<'f> {
        Strings { meta: *self, next: 0, count: self.count() }
    }
    /// Array `i` of an array of arrays.
    pub fn nested(&self, i: u64) -> Result<Meta<'f>> {
        let mut out = 0;
        check(|e| unsafe {
            sys::ggufx_file_meta_array_nested(&mut out, self.file.as_raw(), self.index, i, e)
        })?;
        Ok(Meta::new(self.file, out))
    }
}

impl std::fmt::Debug for Meta<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Meta({:?}: {:?})", self.key(), self.kind())
    }
}

/// Keys of a file in their order.
#[derive(Clone, Debug)]
pub struct MetaIter<'f> {
    file: &'f File,
    next: usize,
    n: usize,
}

impl<'f> MetaIter<'f> {
    pub(crate) fn new(file: &'f File) -> Self {
        let n = unsafe { sys::ggufx_file_meta_count(file.as_raw()) };
        MetaIter { file, next: 0, n }
    }
}
impl<'f> Iterator for MetaIter<'f> {
    type Item = Meta<'f>;
    fn next(&mut self) -> Option<Meta<'f>> {
        if self.next == self.n {
            return None;
        }
        self.next += 1;
        Some(Meta::new(self.file, self.next - 1))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n - self.next, Some(self.n - self.next))
    }
}
impl ExactSizeIterator for MetaIter<'_> {}

/// Strings of an array.
#[derive(Clone, Debug)]
pub struct Strings<'f> {
    meta: Meta<'f>,
    next: u64,
    count: u64,
}
impl<'f> Iterator for Strings<'f> {
    type Item = &'f [u8];
    fn next(&mut self) -> Option<&'f [u8]> {
        if self.next == self.count {
            return None;
        }
        self.next += 1;
        self.meta.string(self.next - 1).ok()
    }
}
