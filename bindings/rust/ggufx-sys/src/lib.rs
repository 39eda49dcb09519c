//! Declarations of libggufx, one for one; `include/ggufx/*.h` holds the contract of each. The crate
//! `ggufx` is the safe way to use them.
//!
//! Without features the library is linked (`build.rs`: the folder `GGUFX_LIB_DIR`, else
//! pkg-config). With `dlopen` nothing is linked: call `load` first, every function after it.
// SPDX-License-Identifier: MIT
#![no_std]
#![allow(non_camel_case_types)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments, clippy::type_complexity)]

pub type ggufx_status = i32;

macro_rules! c_char {
    ($($unsigned:tt)*) => {
        /// C's `char`.
        #[cfg($($unsigned)*)]
        pub type c_char = u8;
        /// C's `char`.
        #[cfg(not($($unsigned)*))]
        pub type c_char = i8;
    };
}
// Unsigned on Arm, POWER, RISC-V and s390x outside of Apple's and Microsoft's systems.
c_char! {
    all(
        any(
            target_arch = "aarch64",
            target_arch = "arm",
            target_arch = "powerpc",
            target_arch = "powerpc64",
            target_arch = "riscv32",
            target_arch = "riscv64",
            target_arch = "s390x"
        ),
        not(target_vendor = "apple"),
        not(windows)
    )
}

#[cfg(not(feature = "dlopen"))]
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        extern "C" {
            $(pub fn $name($($arg: $type),*) $(-> $result)?;)*
        }
        /// Every function of the library.
        pub const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];
    };
}

#[cfg(feature = "dlopen")]
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_upper_case_globals)]
        mod slots {
            use core::sync::atomic::AtomicPtr;
            $(pub static $name: AtomicPtr<crate::c_void> = AtomicPtr::new(core::ptr::null_mut());)*
        }
        $(
            pub unsafe fn $name($($arg: $type),*) $(-> $result)? {
                let at = slots::$name.load(core::sync::atomic::Ordering::Acquire);
                assert!(!at.is_null(), "ggufx_sys::load was not called");
                let f: unsafe extern "C" fn($($type),*) $(-> $result)? = core::mem::transmute(at);
                f($($arg),*)
            }
        )*
        /// Every function of the library.
        pub const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];
        pub(crate) static SLOTS: &[&core::sync::atomic::AtomicPtr<crate::c_void>] =
            &[$(&slots::$name),*];
    };
}
mod constants;
mod functions;
mod structs;
pub use constants::*;
pub use core::ffi::c_void;
pub use functions::*;
pub use structs::*;

#[cfg(feature = "dlopen")]
mod load;
#[cfg(feature = "dlopen")]
pub use load::load;
