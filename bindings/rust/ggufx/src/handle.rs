//! Owned objects of the C side.
// SPDX-License-Identifier: MIT

/// A struct that owns one object: `Send`, destroyed once; `sync` where the C side allows several
/// threads at once on a const object and no method changes it.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ident, $destroy:ident) $($sync:ident)?) => {
        $(#[$doc])*
        pub struct $name {
            raw: std::ptr::NonNull<sys::$raw>,
        }
        impl $name {
            /// The C object, valid as long as `self`.
            pub fn as_raw(&self) -> *mut sys::$raw {
                self.raw.as_ptr()
            }
        }
        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: owned, not used any more.
                unsafe { sys::$destroy(self.raw.as_ptr()) }
            }
        }
        // SAFETY: no object belongs to a thread.
        unsafe impl Send for $name {}
        $(handle!(@$sync $name);)?
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:p})"), self.raw)
            }
        }
    };
    (@sync $name:ident) => {
        // SAFETY: `const T *` may be used by several threads at once; those that change take &mut.
        unsafe impl Sync for $name {}
    };
}
pub(crate) use handle;

use crate::error::{check, Result};
use ggufx_sys as sys;
use std::ptr::{null_mut, NonNull};

/// A call that makes an object.
pub(crate) fn create<T>(
    call: impl FnOnce(*mut *mut T, *mut sys::ggufx_error) -> sys::ggufx_status,
) -> Result<NonNull<T>> {
    let mut out = null_mut();
    check(|e| call(&mut out, e))?;
    // SAFETY: set by every successful call.
    Ok(unsafe { NonNull::new_unchecked(out) })
}

/// `size_of` as the C side wants it.
pub(crate) fn size<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

/// An all-zero record with its size set. Only for the C structs, where zero is valid.
macro_rules! sized {
    ($type:ident) => {{
        // SAFETY: integers, floats, pointers and optional functions may all be zero.
        let mut value: sys::$type = unsafe { std::mem::zeroed() };
        value.struct_size = crate::handle::size::<sys::$type>();
        value
    }};
}
pub(crate) use sized;

/// NUL-terminated C string; NULL and invalid UTF-8 become empty.
///
/// # Safety
/// `text` lives for 'a.
pub(crate) unsafe fn until_nul<'a>(text: *const sys::c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    std::ffi::CStr::from_ptr(text.cast()).to_str().unwrap_or("")
}

/// Bytes of the C side as a slice; NULL is empty.
///
/// # Safety
/// `n` bytes at `data` live for 'a.
pub(crate) unsafe fn bytes<'a>(data: *const sys::c_char, n: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    std::slice::from_raw_parts(data.cast(), n)
}
