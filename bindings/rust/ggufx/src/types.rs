//! Types, and information on the library.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Error, Result};
use crate::handle::sized;
use crate::{KvType, TensorType, TypeFlags};
use ggufx_sys as sys;
use std::ffi::CString;

/// Version of the library, "0.1.0".
pub fn version() -> &'static str {
    // SAFETY: never NULL, lives for ever.
    unsafe { forever(sys::ggufx_version()) }
}

/// Whether the library has a feature: "type:q4_K", "kv:f16", "isa:avx2", "arch:llama", ...
pub fn has(feature: &str) -> bool {
    // SAFETY: NUL-terminated.
    CString::new(feature).map_or(false, |text| unsafe { sys::ggufx_has(text.as_ptr().cast()) != 0 })
}

/// Facts of a tensor or KV type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its name, "q4_K".
    pub name: &'static str,
    /// Description and capabilities.
    pub flags: TypeFlags,
    /// Values per block; 0: a head of the KV cache is the block.
    pub block_values: u32,
    /// Bytes per block.
    pub block_bytes: u32,
}

pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::argument(format!("{:?} holds a NUL", text)))
}

impl TensorType {
    /// Find a type by name, without regard to case.
    ///
    /// ```
    /// # ggufx::Runtime::new().unwrap();
    /// let q4 = ggufx::TensorType::from_name("Q4_K").unwrap();
    /// assert_eq!((q4, q4.row_bytes(512).unwrap()), (ggufx::TensorType::Q4_K, 288));
    /// let error = ggufx::TensorType::from_name("Q4_Q").unwrap_err();
    /// assert_eq!(error.status(), ggufx::Status::NOT_FOUND);
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        let (text, mut id) = (c_string(name)?, 0);
        check(|e| unsafe { sys::ggufx_type_from_name(&mut id, text.as_ptr().cast(), e) })?;
        Ok(TensorType(id))
    }
    /// Describe the type. Errors: `TYPE`.
    pub fn info(self) -> Result<TypeInfo> {
        let mut out = sized!(ggufx_type_facts);
        check(|e| unsafe { sys::ggufx_type_info(&mut out, self.0, e) })?;
        Ok(TypeInfo {
            name: unsafe { forever(out.name) },
            flags: TypeFlags(out.flags),
            block_values: out.block_values,
            block_bytes: out.block_bytes,
        })
    }
    /// Bytes of a row of `n` values. Errors: `TYPE`, `SHAPE`, `OVERFLOW`.
    pub fn row_bytes(self, n: u64) -> Result<u64> {
        let mut out = 0;
        check(|e| unsafe { sys::ggufx_row_bytes(&mut out, self.0, n, e) })?;
        Ok(out)
    }
}

impl KvType {
    /// Find a KV type by name, without regard to case.
    pub fn from_name(name: &str) -> Result<Self> {
        let (text, mut id) = (c_string(name)?, 0);
        check(|e| unsafe { sys::ggufx_kv_type_from_name(&mut id, text.as_ptr().cast(), e) })?;
        Ok(KvType(id))
    }
    /// Describe the type. Errors: `TYPE`.
    pub fn info(self) -> Result<TypeInfo> {
        let mut out = sized!(ggufx_kv_type_facts);
        check(|e| unsafe { sys::ggufx_kv_type_info(&mut out, self.0, e) })?;
        Ok(TypeInfo {
            name: unsafe { forever(out.name) },
            flags: TypeFlags(out.flags),
            block_values: out.block_values,
            block_bytes: out.block_bytes,
        })
    }
}
