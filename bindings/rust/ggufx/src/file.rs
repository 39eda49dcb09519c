//! GGUF files.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{bytes, handle, sized};
use crate::io::{io_of, lend, release, ReadAt};
use crate::meta::{Meta, MetaIter};
use crate::tensor::{Tensor, TensorIter};
#[cfg(not(unix))]
use crate::types::c_string;
use crate::watch::{guarded, rethrow, stop_code, watch, Panic, Progress};
use crate::{IoMode, LogLevel, OpenFlags, Runtime, Status, ValidateFlags};
use ggufx_sys as sys;
use std::ops::ControlFlow;
use std::ptr::NonNull;

handle! {
    /// An opened GGUF, one file or a split set: metadata and tensors; immutable.
    File(ggufx_file, ggufx_file_destroy) sync
}

/// Facts of a file; see `ggufx_file_facts`.
pub type FileInfo = sys::ggufx_file_facts;

/// How a file is opened; the default is all unset.
#[derive(Default)]
pub struct OpenOptions<'a> {
    /// Flags.
    pub flags: OpenFlags,
    /// How tensor data get into memory; None: mapped when possible.
    pub io: Option<IoMode>,
    /// Refuse larger metadata; 0: 1 GiB.
    pub max_metadata_bytes: u64,
    /// Refuse more keys; 0: 1,048,576.
    pub max_keys: u64,
    /// Refuse more tensors of one file; 0: 1,048,576.
    pub max_tensors: u64,
    /// Refuse longer keys and strings; 0: 1 GiB.
    pub max_string_bytes: u64,
    /// Sees bytes, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

/// A remark of [`File::validate`].
#[derive(Clone, Copy, Debug)]
pub struct Finding<'a> {
    /// Weight.
    pub severity: LogLevel,
    /// Status that open would return; `OK` for a note.
    pub status: Status,
    /// Offset in the file.
    pub offset: Option<u64>,
    /// Number of the key or tensor.
    pub index: Option<u64>,
    /// The sentence.
    pub text: &'a str,
    /// Name of the key or tensor; empty when there is none.
    pub name: &'a [u8],
}

fn opened<'a>(
    options: OpenOptions<'a>,
    call: impl FnOnce(
        *mut *mut sys::ggufx_file,
        *const sys::ggufx_open_options,
        *mut sys::ggufx_error,
    ) -> sys::ggufx_status,
) -> Result<File> {
    let mut raw = sized!(ggufx_open_options);
    raw.flags = options.flags.0;
    raw.io = options.io.map_or(0, |io| io.0);
    raw.max_metadata_bytes = options.max_metadata_bytes;
    raw.max_keys = options.max_keys;
    raw.max_tensors = options.max_tensors;
    raw.max_string_bytes = options.max_string_bytes;
    let mut out = std::ptr::null_mut();
    watch(options.progress, |progress, e| {
        raw.progress = progress;
        call(&mut out, &raw, e)
    })?;
    Ok(File { raw: unsafe { NonNull::new_unchecked(out) } })
}

impl File {
    /// Open a path with default options.
    pub fn open(rt: &Runtime, path: impl AsRef<std::path::Path>) -> Result<Self> {
        Self::open_with(rt, path, OpenOptions::default())
    }
    /// Open a path. Errors: those of `ggufx_open`.
    pub fn open_with(
        rt: &Runtime,
        path: impl AsRef<std::path::Path>,
        options: OpenOptions<'_>,
    ) -> Result<Self> {
        let path = path_string(path.as_ref())?;
        opened(options, |out, o, e| unsafe {
            sys::ggufx_open(out, rt.as_raw(), path.as_ptr().cast(), o, e)
        })
    }
    /// Open `length` bytes at `offset` of a descriptor, which stays the caller's; 0: to the end.
    #[cfg(unix)]
    pub fn open_fd(
        rt: &Runtime,
        fd: &impl std::os::unix::io::AsRawFd,
        offset: u64,
        length: u64,
        options: OpenOptions<'_>,
    ) -> Result<Self> {
        opened(options, |out, o, e| unsafe {
            sys::ggufx_open_fd(out, rt.as_raw(), fd.as_raw_fd(), offset, length, o, e)
        })
    }
    /// Open bytes, which are dropped with the last user of the file.
    pub fn open_memory(
        rt: &Runtime,
        data: impl AsRef<[u8]> + Send + Sync + 'static,
        options: OpenOptions<'_>,
    ) -> Result<Self> {
        let (data, n, user) = lend(Box::new(data));
        opened(options, |out, o, e| unsafe {
            sys::ggufx_open_memory(out, rt.as_raw(), data.cast(), n, Some(release), user, o, e)
        })
    }
    /// Open through a reader. A panic in it fails the open with `IO`.
    pub fn open_io(rt: &Runtime, reader: impl ReadAt, options: OpenOptions<'_>) -> Result<Self> {
        let io = io_of(Box::new(reader));
        opened(options, |out, o, e| unsafe { sys::ggufx_open_io(out, rt.as_raw(), &io, o, e) })
    }
    /// Describe the file.
    pub fn info(&self) -> Result<FileInfo> {
        let mut out = sized!(ggufx_file_facts);
        check(|e| unsafe { sys::ggufx_file_info(&mut out, self.as_raw(), e) })?;
        Ok(out)
    }
    /// All keys in file order.
    pub fn meta(&self) -> MetaIter<'_> {
        MetaIter::new(self)
    }
    /// A key. Errors: `NOT_FOUND`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Meta<'_>> {
        let (key, mut out) = (key.as_ref(), 0);
        check(|e| unsafe {
            sys::ggufx_file_meta_find(&mut out, self.as_raw(), key.as_ptr().cast(), key.len(), e)
        })?;
        Ok(Meta::new(self, out))
    }
    /// All tensors in file order.
    pub fn tensors(&self) -> TensorIter<'_> {
        TensorIter::new(self)
    }
    /// A tensor by its name. Errors: `NOT_FOUND`.
    pub fn tensor(&self, name: impl AsRef<[u8]>) -> Result<Tensor<'_>> {
        let (name, mut out) = (name.as_ref(), 0);
        check(|e| unsafe {
            sys::ggufx_file_tensor_find(&mut out, self.as_raw(), name.as_ptr().cast(), name.len(), e)
        })?;
        let raw = unsafe { sys::ggufx_file_tensor(self.as_raw(), out) };
        Ok(unsafe { Tensor::borrowed(raw) })
    }
    /// Check the file beyond what open refuses; `report` may stop (`CANCELLED`).
    pub fn validate<'a>(
        &self,
        flags: ValidateFlags,
        report: &mut dyn FnMut(&Finding<'_>) -> ControlFlow<()>,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<()> {
        let mut state = Validation { report, panic: None };
        let user = (&mut state as *mut Validation<'_>).cast();
        let result = watch(progress, |hook, e| unsafe {
            sys::ggufx_validate(self.as_raw(), flags.0, Some(on_finding), user, hook, e)
        });
        rethrow(state.panic);
        result
    }
}

pub(crate) fn path_string(path: &std::path::Path) -> Result<std::ffi::CString> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        std::ffi::CString::new(path.as_os_str().as_bytes())
            .map_err(|_| crate::Error::argument(format!("{:?} holds a NUL", path)))
    }
    #[cfg(not(unix))]
    c_string(&path.to_string_lossy())
}

struct Validation<'a> {
    report: &'a mut dyn FnMut(&Finding<'_>) -> ControlFlow<()>,
    panic: Panic,
}

unsafe extern "C" fn on_finding(user: *mut sys::c_void, f: *const sys::ggufx_finding) -> i32 {
    let state = &mut *user.cast::<Validation<'_>>();
    let present = |v: u64| if v == sys::GGUFX_NONE { None } else { Some(v) };
    let finding = Finding {
        severity: LogLevel((*f).severity),
        status: Status((*f).status),
        offset: present((*f).offset),
        index: present((*f).index),
        text: std::ffi::CStr::from_ptr((*f).text.cast()).to_str().unwrap_or(""),
        name: bytes((*f).name, (*f).name_length),
    };
    let report = &mut state.report;
    guarded(&mut state.panic, 1, || stop_code(report(&finding)))
}
