//! Devices.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::keep::{c_string, Keep};
use crate::watch::check;
use crate::{Device, DeviceOptions, Runtime};
use ggufx_sys as sys;
use std::ptr::null_mut;

impl Device {
    /// Open a device by its id. Errors: those of `ggufx_device_open`.
    pub fn open(rt: &Runtime, id: &str, options: DeviceOptions<'_>) -> Result<Self> {
        let (held, id, mut out) = (Keep::new(), c_string(id)?, null_mut());
        let (raw, id) = (options.raw(&held)?, id.as_ptr().cast());
        check(|e| unsafe { sys::ggufx_device_open(&mut out, rt.as_raw(), id, &raw, e) })?;
        Ok(Device::of_raw(out))
    }
}
