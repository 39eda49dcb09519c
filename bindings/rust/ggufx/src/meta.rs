//! Keys and values of a file.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::{File, MetaFacts, Status, ValueType};

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
    /// Its number in the file.
    pub fn index(&self) -> usize {
        self.index
    }
    /// Key, types, number of elements, offset. Errors: `ARGUMENT`.
    pub fn entry(&self) -> Result<MetaFacts<'f>> {
        self.file.meta_at(self.index)
    }
    /// The key, when it is UTF-8; empty for a nested array.
    pub fn key(&self) -> &'f str {
        self.entry().map_or("", |e| std::str::from_utf8(e.key).unwrap_or(""))
    }
    /// Type of the value.
    pub fn kind(&self) -> ValueType {
        self.entry().map_or(ValueType(-1), |e| e.type_)
    }
    /// Type of an array's elements.
    pub fn element_kind(&self) -> Option<ValueType> {
        self.entry().ok().map(|e| e.element_type).filter(|kind| kind.0 >= 0)
    }
    /// Elements of an array, bytes of a string, else 1.
    pub fn count(&self) -> u64 {
        self.entry().map_or(0, |e| e.count)
    }
    /// An integer that fits. Errors: `VALUE_TYPE`, `VALUE`.
    pub fn u64(&self) -> Result<u64> {
        self.file.meta_u64(self.index)
    }
    /// An integer that fits. Errors: `VALUE_TYPE`, `VALUE`.
    pub fn i64(&self) -> Result<i64> {
        self.file.meta_i64(self.index)
    }
    /// A number that loses nothing. Errors: `VALUE_TYPE`, `VALUE`.
    pub fn f64(&self) -> Result<f64> {
        self.file.meta_f64(self.index)
    }
    /// A bool. Errors: `VALUE_TYPE`.
    pub fn bool(&self) -> Result<bool> {
        self.file.meta_bool(self.index)
    }
    /// A string's bytes. Errors: `VALUE_TYPE`.
    pub fn bytes(&self) -> Result<&'f [u8]> {
        self.file.meta_string(self.index)
    }
    /// A string. Errors: `VALUE_TYPE`; `VALUE` when it is not UTF-8.
    pub fn str(&self) -> Result<&'f str> {
        std::str::from_utf8(self.bytes()?).map_err(|e| Error::new(Status::VALUE, e.to_string()))
    }
    /// Elements `first .. first + n` of an array of numbers or bools.
    pub fn array_u64(&self, first: u64, n: usize) -> Result<Vec<u64>> {
        self.file.meta_array_u64(self.index, first, n)
    }
    /// As [`Meta::array_u64`], signed.
    pub fn array_i64(&self, first: u64, n: usize) -> Result<Vec<i64>> {
        self.file.meta_array_i64(self.index, first, n)
    }
    /// As [`Meta::array_u64`], floating point.
    pub fn array_f64(&self, first: u64, n: usize) -> Result<Vec<f64>> {
        self.file.meta_array_f64(self.index, first, n)
    }
    /// String `i` of an array of strings.
    pub fn string(&self, i: u64) -> Result<&'f [u8]> {
        self.file.meta_array_string(self.index, i)
    }
    /// All strings of an array of strings; ends early where one cannot be read.
    pub fn strings(&self) -> impl Iterator<Item = &'f [u8]> {
        let meta = *self;
        (0..self.count()).map_while(move |i| meta.string(i).ok())
    }
    /// Array `i` of an array of arrays.
    pub fn nested(&self, i: u64) -> Result<Meta<'f>> {
        Ok(Meta::new(self.file, self.file.meta_array_nested(self.index, i)?))
    }
}

impl std::fmt::Debug for Meta<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Meta({:?}: {:?})", self.key(), self.kind())
    }
}
