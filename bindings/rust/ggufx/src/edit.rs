//! In-place edits of the keys and names of a file.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::file::path_string;
use crate::handle::sized;
use crate::watch::{watch, Progress};
use crate::{EditFlags, File, Runtime, Writer};
use ggufx_sys as sys;
use std::path::Path;

/// Result of an edit; see `ggufx_edit_facts`.
pub type EditInfo = sys::ggufx_edit_facts;

impl Writer {
    /// Describes the effect of [`Writer::edit`]: the writer holds the new content of `file`.
    /// Errors: those of `ggufx_edit_info`.
    pub fn edit_info(&self, file: &File, flags: EditFlags) -> Result<EditInfo> {
        let (mut out, mut raw) = (sized!(ggufx_edit_facts), sized!(ggufx_edit_options));
        raw.flags = flags.0;
        check(|e| unsafe {
            sys::ggufx_edit_info(&mut out, self.as_raw(), file.as_raw(), &raw, e)
        })?;
        Ok(out)
    }
    /// Make the edit to the file at `path`, from which `file` was opened: in place if the keys fit,
    /// else as a new file. Errors: `STATE`, `CAPACITY`, `CANCELLED`, `IO`, ...
    pub fn edit<'a>(
        &mut self,
        file: &File,
        path: impl AsRef<Path>,
        flags: EditFlags,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<EditInfo> {
        let (path, w) = (path_string(path.as_ref())?, self.as_raw());
        let (mut out, mut raw) = (sized!(ggufx_edit_facts), sized!(ggufx_edit_options));
        raw.flags = flags.0;
        watch(progress, |hook, e| unsafe {
            raw.progress = hook;
            sys::ggufx_edit_write(&mut out, w, file.as_raw(), path.as_ptr().cast(), &raw, e)
        })?;
        Ok(out)
    }
}

/// Finish an in-place edit interrupted by a crash; false: there was none. Errors: `STATE`, `IO`,
/// `NOT_FOUND`.
pub fn recover_edit(rt: &Runtime, path: impl AsRef<Path>) -> Result<bool> {
    let (path, mut out) = (path_string(path.as_ref())?, 0);
    let at = path.as_ptr().cast();
    check(|e| unsafe { sys::ggufx_edit_recover(&mut out, rt.as_raw(), at, e) })?;
    Ok(out != 0)
}
