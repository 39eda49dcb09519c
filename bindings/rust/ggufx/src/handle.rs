//! Owned objects of the C side, and what its structs point to.
// SPDX-License-Identifier: MIT
use ggufx_sys as sys;
use std::ptr::NonNull;

/// A struct that owns one object, and what that needs: `Send`, destroyed once. It is `Sync`, because the C side allows
/// several threads at once on a const object, and methods that need it alone take `&mut self`.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ident, $destroy:ident)) => {
        handle! { $(#[$doc])* $name($raw, $destroy) {} }
    };
    ($(#[$doc:meta])* $name:ident($raw:ident, $destroy:ident) { $($more:ident: $type:ty)* }) => {
        $(#[$doc])*
        pub struct $name {
            raw: std::ptr::NonNull<sys::$raw>,
            $(pub(crate) $more: $type,)*
        }
        impl $name {
            #[allow(dead_code)]
            pub(crate) fn of_raw(raw: *mut sys::$raw $(, $more: $type)*) -> Self {
                $name { raw: crate::handle::made(raw) $(, $more)* }
            }
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
        // SAFETY: `const T *` may be used by several threads at once; those that change take &mut.
        unsafe impl Sync for $name {}
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:p})"), self.raw)
            }
        }
    };
}
pub(crate) use handle;

/// The object that a successful call has set.
pub(crate) fn made<T>(out: *mut T) -> NonNull<T> {
    NonNull::new(out).expect("every call that succeeds makes an object")
}

/// A struct of C: all of its members may be zero.
///
/// # Safety
/// `T` has integers, floats, pointers and optional functions only.
pub(crate) unsafe fn zeroed<T: Copy>() -> T {
    std::mem::zeroed()
}

/// `size_of` as the C side wants it.
pub(crate) fn size<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

/// An all-zero struct with its size set.
macro_rules! sized {
    ($type:ident) => {{
        // SAFETY: a struct of C.
        let mut value: sys::$type = unsafe { crate::handle::zeroed() };
        value.struct_size = crate::handle::size::<sys::$type>();
        value
    }};
}
pub(crate) use sized;

/// NUL-terminated C string; NULL and invalid UTF-8 become empty.
///
/// # Safety
/// `text` lives for 'a.
pub(crate) unsafe fn string<'a>(text: *const sys::c_char) -> &'a str {
    string_or_none(text).unwrap_or("")
}

/// The same; NULL is None.
///
/// # Safety
/// `text` lives for 'a.
pub(crate) unsafe fn string_or_none<'a>(text: *const sys::c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    Some(std::ffi::CStr::from_ptr(text.cast()).to_str().unwrap_or(""))
}

/// Elements of the C side as a slice; NULL is empty.
///
/// # Safety
/// `n` elements at `data` live for 'a.
pub(crate) unsafe fn items<'a, T>(data: *const T, n: usize) -> &'a [T] {
    items_or_none(data, n).unwrap_or(&[])
}

/// The same; NULL is None.
///
/// # Safety
/// `n` elements at `data` live for 'a.
pub(crate) unsafe fn items_or_none<'a, T>(data: *const T, n: usize) -> Option<&'a [T]> {
    if data.is_null() {
        return None;
    }
    Some(std::slice::from_raw_parts(data, n))
}

/// The text of a struct's own array.
pub(crate) fn fixed_string(text: &[sys::c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number that `GGUFX_NONE` stands for the absence of.
pub(crate) fn present(value: u64) -> Option<u64> {
    if value == sys::GGUFX_NONE {
        return None;
    }
    Some(value)
}
