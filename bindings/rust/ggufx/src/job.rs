//! Quantizing whole models: recipes, plans, runs.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Error, Result};
use crate::file::path_string;
use crate::handle::{bytes, create, handle, sized};
use crate::types::c_string;
use crate::watch::{watch, Progress};
use crate::{File, Imatrix, JobFlags, JobReason, Runtime, TensorType};
use ggufx_sys as sys;
use std::ffi::CStr;
use std::ptr::null;

/// A recipe of types for the tensors of a model: a value of `general.file_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileType {
    /// "Q4_K_M".
    pub name: &'static str,
    /// The value of `general.file_type`.
    pub id: u32,
    /// That most tensors get.
    pub kind: TensorType,
}

impl FileType {
    fn at(index: usize) -> Result<Self> {
        let mut out = sized!(ggufx_file_type_facts);
        check(|e| unsafe { sys::ggufx_file_type_at(&mut out, index, e) })?;
        let name = unsafe { forever(out.name) };
        Ok(FileType {
            name,
            id: out.file_type,
            kind: TensorType(out.type_),
        })
    }
    /// All recipes, most bits first.
    pub fn all() -> impl Iterator<Item = FileType> {
        // SAFETY: no arguments.
        (0..unsafe { sys::ggufx_file_type_count() }).filter_map(|i| FileType::at(i).ok())
    }
    /// Find a recipe by name, without regard to case; "Q4_K" is Q4_K_M. Errors: `NOT_FOUND`.
    pub fn from_name(name: &str) -> Result<Self> {
        let (text, mut id) = (c_string(name)?, 0);
        check(|e| unsafe { sys::ggufx_file_type_from_name(&mut id, text.as_ptr().cast(), e) })?;
        let found = FileType::all().find(|t| t.id == id);
        found.ok_or_else(|| Error::argument(format!("{:?} is not listed", name)))
    }
}

handle! {
    /// A quantization that is planned, runs, or has run; keeps its file.
    Quantizer(ggufx_job, ggufx_job_destroy) sync
}

/// Options of a quantization; the default is the recipe alone.
#[derive(Clone, Copy, Default)]
pub struct QuantizerOptions<'a> {
    /// Flags; those of the types below are set by them.
    pub flags: JobFlags,
    /// Type of output.weight.
    pub output_type: Option<TensorType>,
    /// Type of token_embd.weight.
    pub embedding_type: Option<TensorType>,
    /// Importance matrix.
    pub imatrix: Option<&'a Imatrix>,
    /// For the key quantize.imatrix.file.
    pub imatrix_name: Option<&'a str>,
    /// Room for later edits.
    pub reserve_bytes: u64,
}

impl QuantizerOptions<'_> {
    /// The C record; it points to the imatrix and to `imatrix_name`, which is that of the options.
    pub(crate) fn raw(&self, imatrix_name: Option<&CStr>) -> sys::ggufx_job_options {
        let mut raw = sized!(ggufx_job_options);
        raw.flags = self.flags.0;
        if let Some(kind) = self.output_type {
            raw.flags |= JobFlags::OUTPUT_TYPE.0;
            raw.output_type = kind.0;
        }
        if let Some(kind) = self.embedding_type {
            raw.flags |= JobFlags::EMBEDDING_TYPE.0;
            raw.embedding_type = kind.0;
        }
        raw.imatrix = self.imatrix.map_or(null(), |m| m.as_raw() as *const _);
        raw.imatrix_name = imatrix_name.map_or(null(), |text| text.as_ptr().cast());
        raw.reserve_bytes = self.reserve_bytes;
        raw
    }
}

/// Facts of a plan; see `ggufx_job_facts`.
pub type QuantizerInfo = sys::ggufx_job_facts;

/// Planned quantization of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct PlannedTensor<'j> {
    /// Its name.
    pub name: &'j [u8],
    /// Its type in the file.
    pub from: TensorType,
    /// That it gets.
    pub to: TensorType,
    /// Why.
    pub reason: JobReason,
    /// Everything else; `name` and `name_length` are those above.
    pub facts: sys::ggufx_job_tensor,
}

impl PlannedTensor<'_> {
    /// # Safety
    /// The record's name lives for 'j.
    pub(crate) unsafe fn new<'j>(facts: sys::ggufx_job_tensor) -> PlannedTensor<'j> {
        PlannedTensor {
            name: bytes(facts.name, facts.name_length),
            from: TensorType(facts.from),
            to: TensorType(facts.to),
            reason: JobReason(facts.reason),
            facts,
        }
    }
    /// RMS error, from a run that measured it.
    pub fn rmse(&self) -> Option<f64> {
        Some(self.facts.rmse).filter(|rmse| *rmse >= 0.0)
    }
}

impl Quantizer {
    /// Plan the quantization of a file by a recipe. Errors: those of `ggufx_job_quantize`.
    pub fn new(
        rt: &Runtime,
        file: &File,
        recipe: FileType,
        options: QuantizerOptions<'_>,
    ) -> Result<Self> {
        let name = options.imatrix_name.map(c_string).transpose()?;
        let raw = options.raw(name.as_deref());
        let raw = create(|out, e| unsafe {
            sys::ggufx_job_quantize(out, rt.as_raw(), file.as_raw(), recipe.id, &raw, e)
        })?;
        Ok(Quantizer { raw })
    }
    /// Describe the plan.
    pub fn info(&self) -> Result<QuantizerInfo> {
        let mut out = sized!(ggufx_job_facts);
        check(|e| unsafe { sys::ggufx_job_info(&mut out, self.as_raw(), e) })?;
        Ok(out)
    }
    /// Tensor `index` in the order they are written. Errors: `ARGUMENT`.
    pub fn tensor(&self, index: usize) -> Result<PlannedTensor<'_>> {
        let mut out = sized!(ggufx_job_tensor);
        check(|e| unsafe { sys::ggufx_job_tensor_at(&mut out, self.as_raw(), index, e) })?;
        Ok(unsafe { PlannedTensor::new(out) })
    }
    /// All tensors in the order they are written.
    pub fn tensors(&self) -> impl Iterator<Item = PlannedTensor<'_>> {
        (0..).map_while(move |i| self.tensor(i).ok())
    }
    /// Set per-tensor overrides by a function: None leaves a tensor to the recipe. Replaces earlier
    /// overrides; after a failure the plan is as it was. Errors: those of [`Quantizer::new`].
    pub fn choose(
        &mut self,
        mut rule: impl FnMut(&PlannedTensor<'_>) -> Option<TensorType>,
    ) -> Result<()> {
        let types: Vec<u32> = self
            .tensors()
            .map(|t| rule(&t).map_or(sys::GGUFX_JOB_BY_RECIPE, |kind| kind.0))
            .collect();
        let (from, n) = (types.as_ptr(), types.len());
        check(|e| unsafe { sys::ggufx_job_set_types(self.as_raw(), from, n, e) })
    }
    /// Quantization error of a type for tensor `index`: the RMS error of up to `max_values` values
    /// (0: all). Errors: `TYPE`, `UNSUPPORTED`, `SHAPE`, `VALUE`, `CANCELLED`.
    pub fn measure<'a>(
        &self,
        index: usize,
        kind: TensorType,
        max_values: u64,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<f64> {
        let mut out = 0.0;
        watch(progress, |hook, e| unsafe {
            sys::ggufx_job_measure(&mut out, self.as_raw(), index, kind.0, max_values, hook, e)
        })?;
        Ok(out)
    }
    /// After all shards have run: check them, write the metadata, rename. Errors: `NOT_FOUND`,
    /// `STATE` (the shards' work stays for another try), those of [`Quantizer::run`].
    pub fn finish<'a>(
        &mut self,
        path: impl AsRef<std::path::Path>,
        progress: Option<&'a mut Progress<'a>>,
    ) -> Result<()> {
        let (path, job) = (path_string(path.as_ref())?, self.as_raw());
        watch(progress, |hook, e| unsafe {
            sys::ggufx_job_finish(job, path.as_ptr().cast(), hook, e)
        })
    }
}
