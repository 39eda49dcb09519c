//! Keys and values of a file.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::{File, MetaFacts, Status, ValueType};

/// A key and its value.
#[derive(Clone, Copy)]
pub struct Meta<'f> {
    pub(crate) file: &'f File,
    pub(crate) index: usize,
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
    /// A string. Errors: `VALUE_TYPE`; `VALUE` when it is not UTF-8.
    pub fn str(&self) -> Result<&'f str> {
        std::str::from_utf8(self.string()?).map_err(|e| Error::new(Status::VALUE, e.to_string()))
    }
    /// All strings of an array of strings; ends early where one cannot be read.
    pub fn strings(&self) -> impl Iterator<Item = &'f [u8]> {
        let meta = *self;
        (0..self.count()).map_while(move |i| meta.array_string(i).ok())
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
