//! Memory that a call reads and writes: it must live until the call has ended.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::handle::zeroed;
use crate::watch::{on_progress, Progress};
use crate::{Element, Status, TensorType};
use ggufx_sys as sys;
use std::alloc::{alloc_zeroed, Layout};
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{c_void, CString};
use std::path::Path;
use std::ptr::{null, null_mut, NonNull};

/// A value whose type does not matter any more.
trait Kept {}
impl<T> Kept for T {}

/// Values that structs of C point to, until the end of a call. They need no lifetime: all are made of
/// numbers, texts and references that the caller lent for longer than the call takes.
#[derive(Default)]
pub(crate) struct Keep {
    kept: RefCell<Vec<NonNull<dyn Kept>>>,
    // Holds one progress callback, so that a call with it does not allocate.
    watched: UnsafeCell<Option<(NonNull<Progress<'static>>, sys::ggufx_progress)>>,
}

impl Drop for Keep {
    fn drop(&mut self) {
        for kept in self.kept.get_mut().drain(..) {
            // SAFETY: from `put`; the call has ended.
            drop(unsafe { Box::from_raw(kept.as_ptr()) });
        }
    }
}

impl Keep {
    pub(crate) fn new() -> Self {
        Self::default()
    }
    /// Keep a value at one address.
    pub(crate) fn put<T>(&self, value: T) -> *mut T {
        let at = Box::into_raw(Box::new(value));
        let kept: *mut (dyn Kept + '_) = at;
        // SAFETY: just made; only the lifetime changes.
        let kept: *mut dyn Kept = unsafe { std::mem::transmute(kept) };
        self.kept.borrow_mut().extend(NonNull::new(kept));
        at
    }
    /// A list made for the call; NULL if it is empty.
    pub(crate) fn list<T>(&self, values: Vec<T>) -> *const T {
        if values.is_empty() {
            return null();
        }
        // SAFETY: `put` keeps it.
        unsafe { (*self.put(values)).as_ptr() }
    }
    /// NUL-terminated; NULL if there is none.
    pub(crate) fn string(&self, text: Option<&str>) -> Result<*const sys::c_char> {
        self.c_string(text.map(c_string))
    }
    /// Name of a file; NULL if there is none.
    pub(crate) fn path(&self, path: Option<&Path>) -> Result<*const sys::c_char> {
        self.c_string(path.map(path_string))
    }
    fn c_string(&self, text: Option<Result<CString>>) -> Result<*const sys::c_char> {
        match text {
            None => Ok(null()),
            // SAFETY: `put` keeps it.
            Some(text) => Ok(unsafe { (*self.put(text?)).as_ptr().cast() }),
        }
    }
    /// The hook of a progress; NULL if there is none. A call has one.
    pub(crate) fn progress(&self, report: Option<&mut Progress<'_>>) -> *const sys::ggufx_progress {
        let report: NonNull<Progress<'_>> = match report {
            None => return null(),
            Some(report) => report.into(),
        };
        // SAFETY: only the lifetime changes: the caller lent it for longer than the call takes, and
        // nothing else has an address inside of the cell.
        unsafe {
            let report =
                std::mem::transmute::<NonNull<Progress<'_>>, NonNull<Progress<'static>>>(report);
            let at = self.watched.get();
            *at = Some((report, zeroed()));
            let (report, hook) = (*at).as_mut().expect("just set");
            hook.user = (report as *mut NonNull<Progress<'static>>).cast();
            hook.report = Some(on_progress);
            hook
        }
    }
}

/// A pointer for C: NULL where there is nothing.
pub(crate) fn optional<T>(of: Option<&[T]>) -> *const T {
    of.map_or(null(), <[T]>::as_ptr)
}

/// The same, of a buffer that is written.
pub(crate) fn optional_mut<T>(of: &mut Option<&mut [T]>) -> *mut T {
    of.as_deref_mut().map_or(null_mut(), <[T]>::as_mut_ptr)
}

/// Elements of a slice that may be absent.
pub(crate) fn count<T>(of: Option<&[T]>) -> usize {
    of.map_or(0, <[T]>::len)
}

/// None instead of an empty slice.
pub(crate) fn filled<T>(of: &[T]) -> Option<&[T]> {
    Some(of).filter(|of| !of.is_empty())
}

/// Whether there are as many elements as C will read or write, which it cannot know.
pub(crate) fn exactly(what: &str, n: Option<usize>, wanted: u64) -> Result<()> {
    match n {
        Some(n) if n as u64 != wanted => {
            Err(Error::argument(format!("{} has {} elements, not {}", what, n, wanted)))
        }
        _ => Ok(()),
    }
}

/// A product of lengths; more than memory has if it is too large.
pub(crate) fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |all, &one| all.saturating_mul(one))
}

/// A new vector of zeros, whose memory is touched by the call that fills it. Errors: `MEMORY`.
pub(crate) fn zeros<T: Element>(n: u64) -> Result<Vec<T>> {
    let fault = || Error::new(Status::MEMORY, format!("no memory for {} elements", n));
    let length = usize::try_from(n).map_err(|_| fault())?;
    let layout = Layout::array::<T>(length).map_err(|_| fault())?;
    if length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is that of a vector, is not empty, and a number may be zero.
    unsafe {
        let at = alloc_zeroed(layout).cast::<T>();
        if at.is_null() {
            return Err(fault());
        }
        Ok(Vec::from_raw_parts(at, length, length))
    }
}

pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::argument(format!("{:?} holds a NUL", text)))
}

pub(crate) fn path_string(path: &Path) -> Result<CString> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::argument(format!("{:?} holds a NUL", path)))
    }
    #[cfg(not(unix))]
    c_string(&path.to_string_lossy())
}

const FEW: usize = 8;

/// Structs of C made for a call; a few of them without an allocation.
pub(crate) struct List<T> {
    few: [T; FEW],
    many: Vec<T>,
    n: usize,
}

impl<T: Copy> List<T> {
    /// # Safety
    /// All zero is a `T`.
    pub(crate) unsafe fn of(values: impl ExactSizeIterator<Item = Result<T>>) -> Result<Self> {
        let mut list = List { few: [zeroed(); FEW], many: Vec::new(), n: values.len() };
        if list.n > FEW {
            list.many = values.collect::<Result<_>>()?;
        } else {
            for (to, value) in list.few.iter_mut().zip(values) {
                *to = value?;
            }
        }
        Ok(list)
    }
    pub(crate) fn at(&self) -> *const T {
        if self.n > FEW {
            return self.many.as_ptr();
        }
        self.few.as_ptr()
    }
    pub(crate) fn len(&self) -> usize {
        self.n
    }
}

/// Structs of C as those of Rust.
///
/// # Safety
/// As `of`.
pub(crate) unsafe fn list<T, U>(items: &[T], of: unsafe fn(&T) -> U) -> Vec<U> {
    items.iter().map(|item| of(item)).collect()
}

/// A text of the library.
pub(crate) fn lossy(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// The address of a function of the program, for a callback.
pub(crate) fn user_of<T>(callback: &mut T) -> *mut sys::c_void {
    (callback as *mut T).cast()
}

/// A vector that a call fills; it is made larger when the call says how much it needs.
pub(crate) struct Room<T> {
    items: Vec<T>,
    pub(crate) needed: usize,
}

impl<T: Copy> Room<T> {
    /// # Safety
    /// All zero is a `T`.
    pub(crate) unsafe fn new(n: usize) -> Self {
        Room { items: vec![zeroed(); n], needed: 0 }
    }
    pub(crate) fn at(&mut self) -> *mut T {
        self.items.as_mut_ptr()
    }
    pub(crate) fn size(&self) -> usize {
        self.items.len()
    }
    /// Whether the call must be made again, because there is more room now.
    pub(crate) fn grows(&mut self, done: &Result<()>) -> bool {
        let more = self.needed > self.items.len();
        let again = more && matches!(done, Err(e) if e.status() == Status::CAPACITY);
        if again {
            // SAFETY: as in `new`.
            self.items.resize(self.needed, unsafe { zeroed() });
        }
        again
    }
    /// Returns the items that the call has filled.
    pub(crate) fn filled(mut self) -> Vec<T> {
        self.items.truncate(self.needed);
        self.items
    }
}

/// Floats of a type of files.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// F32.
    F32(&'a [f32]),
    /// The bits of F16 or BF16.
    Half(&'a [u16]),
}

impl Values<'_> {
    pub(crate) fn of(self, kind: TensorType, what: &str) -> Result<(*const c_void, usize)> {
        match self {
            Values::F32(x) if kind == TensorType::F32 => Ok((x.as_ptr().cast(), x.len())),
            Values::Half(x) if kind == TensorType::F16 || kind == TensorType::BF16 => {
                Ok((x.as_ptr().cast(), x.len()))
            }
            _ => Err(Error::argument(format!("{} has another type than {:?}", what, kind))),
        }
    }
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(x: &'a [f32]) -> Self {
        Values::F32(x)
    }
}

impl<'a> From<&'a [u16]> for Values<'a> {
    fn from(x: &'a [u16]) -> Self {
        Values::Half(x)
    }
}
