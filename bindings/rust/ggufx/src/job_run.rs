//! Runs of a quantization.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::file::path_string;
use crate::handle::sized;
use crate::watch::{guarded, rethrow, watch, Panic, Progress};
use crate::{JobRunFlags, PlannedTensor, Quantizer};
use ggufx_sys as sys;

/// Called after each tensor with its index, on the thread of the run.
pub type TensorDone<'a> = dyn FnMut(usize, &PlannedTensor<'_>) + 'a;

/// How a plan is run; the default writes the whole file.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Flags.
    pub flags: JobRunFlags,
    /// Sees bytes of input, may cancel.
    pub progress: Option<&'a mut Progress<'a>>,
    /// Sees each tensor after it was written.
    pub tensor_done: Option<&'a mut TensorDone<'a>>,
    /// Number of this run, from 1, and how many share the work; [`Quantizer::finish`] ends it.
    pub shard: Option<(u32, u32)>,
}

struct Seen<'a> {
    tensor_done: &'a mut TensorDone<'a>,
    panic: Panic,
}

unsafe extern "C" fn on_tensor(
    user: *mut sys::c_void,
    index: usize,
    tensor: *const sys::ggufx_job_tensor,
) {
    let seen = &mut *user.cast::<Seen<'_>>();
    let tensor_done = &mut seen.tensor_done;
    let tensor = PlannedTensor::new(*tensor);
    guarded(&mut seen.panic, (), || tensor_done(index, &tensor));
}

impl Quantizer {
    /// Write the file, whole or not at all; with [`JobRunFlags::KEEP`] a cancelled run leaves
    /// temporary files, from which a run with [`JobRunFlags::RESUME`] continues. Errors: those of
    /// `ggufx_job_run`.
    pub fn run(&mut self, path: impl AsRef<std::path::Path>, options: RunOptions<'_>) -> Result<()> {
        let (path, job) = (path_string(path.as_ref())?, self.as_raw());
        let mut raw = sized!(ggufx_job_run_options);
        raw.flags = options.flags.0;
        if let Some((shard, n_shards)) = options.shard {
            raw.shard = shard;
            raw.n_shards = n_shards;
        }
        let mut seen = options.tensor_done.map(|f| Seen { tensor_done: f, panic: None });
        if let Some(seen) = &mut seen {
            raw.user = (seen as *mut Seen<'_>).cast();
            raw.tensor_done = Some(on_tensor);
        }
        let result = watch(options.progress, |hook, e| unsafe {
            raw.progress = hook;
            sys::ggufx_job_run(job, path.as_ptr().cast(), &raw, e)
        });
        rethrow(seen.and_then(|s| s.panic));
        result
    }
}
