//! The library at run time, on systems with dlopen.
// SPDX-License-Identifier: MIT
use crate::{c_char, c_void, functions::SLOTS, NAMES};
use core::sync::atomic::Ordering;

#[link(name = "dl")]
extern "C" {
    fn dlopen(path: *const c_char, mode: i32) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> i32;
}
const RTLD_NOW: i32 = 2;

/// Load the library at `path` (NUL-terminated; a bare name is searched for) and find every
/// function in it. It stays loaded. `Err` names what is missing, NUL-terminated: the path, or a
/// function. Calling it again changes nothing.
///
/// # Safety
/// The file's initialisers run; `path` ends with NUL.
pub unsafe fn load(path: &str) -> Result<(), &str> {
    if !path.ends_with('\0') {
        return Err(path);
    }
    if SLOTS.iter().all(|s| !s.load(Ordering::Acquire).is_null()) {
        return Ok(());
    }
    let handle = dlopen(path.as_ptr().cast(), RTLD_NOW);
    if handle.is_null() {
        return Err(path);
    }
    for name in NAMES {
        if dlsym(handle, name.as_ptr().cast()).is_null() {
            dlclose(handle);
            return Err(name);
        }
    }
    for (name, slot) in NAMES.iter().zip(SLOTS) {
        slot.store(dlsym(handle, name.as_ptr().cast()), Ordering::Release);
    }
    Ok(())
}
