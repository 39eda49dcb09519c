//! Products of quantized weights. No call allocates on the C side, nor those here that take a
//! buffer.
// SPDX-License-Identifier: MIT
use crate::error::{Error, Result};
use crate::handle::sized;
use crate::watch::{watch, Progress};
use crate::{MatmulFlags, Runtime, Tensor};
use ggufx_sys as sys;

/// How products are computed; the default is all unset.
#[derive(Default)]
pub struct MatmulOptions<'a> {
    /// Flags.
    pub flags: MatmulFlags,
    /// May cancel.
    pub progress: Option<&'a mut Progress<'a>>,
}

impl MatmulOptions<'_> {
    fn run(
        self,
        call: impl FnOnce(*const sys::ggufx_matmul_options, *mut sys::ggufx_error) -> i32,
    ) -> Result<()> {
        let mut raw = sized!(ggufx_matmul_options);
        raw.flags = self.flags.0;
        watch(self.progress, |progress, e| {
            raw.progress = progress;
            call(&raw, e)
        })
    }
}

impl Tensor<'_> {
    /// y = W x, in a new vector.
    pub fn matvec(&self, rt: &Runtime, x: &[f32]) -> Result<Vec<f32>> {
        let mut y = vec![0.0; self.info()?.n_rows as usize];
        self.matvec_into(rt, &mut y, x, MatmulOptions::default())?;
        Ok(y)
    }
    /// y = W x. Errors: `ARGUMENT` (lengths), `TYPE`, `UNSUPPORTED`, `LIMIT`, `CANCELLED`.
    pub fn matvec_into(
        &self,
        rt: &Runtime,
        y: &mut [f32],
        x: &[f32],
        options: MatmulOptions<'_>,
    ) -> Result<()> {
        let (to, n_y) = (y.as_mut_ptr(), y.len());
        options.run(|o, e| unsafe {
            sys::ggufx_matvec(to, n_y, rt.as_raw(), self.as_raw(), x.as_ptr(), x.len(), o, e)
        })
    }
    /// Y = W X for `n` columns, `ldx` and `ldy` floats apart; 0: dense.
    pub fn matmul_into(
        &self,
        rt: &Runtime,
        y: &mut [f32],
        ldy: usize,
        x: &[f32],
        ldx: usize,
        n: usize,
        options: MatmulOptions<'_>,
    ) -> Result<()> {
        let (to, n_y, w) = (y.as_mut_ptr(), y.len(), self.as_raw());
        options.run(|o, e| unsafe {
            sys::ggufx_matmul(to, ldy, n_y, rt.as_raw(), w, x.as_ptr(), ldx, x.len(), n, o, e)
        })
    }
    /// Experts: result `j * n_used + i` is expert `ids[j * n_used + i]` times column `j`.
    pub fn matmul_id_into(
        &self,
        rt: &Runtime,
        y: &mut [f32],
        ldy: usize,
        ids: &[u32],
        n_used: usize,
        x: &[f32],
        ldx: usize,
        options: MatmulOptions<'_>,
    ) -> Result<()> {
        if n_used == 0 || ids.len() % n_used != 0 {
            return Err(Error::argument(format!("{} ids, {} of a column", ids.len(), n_used)));
        }
        let (to, n_y, w, n) = (y.as_mut_ptr(), y.len(), self.as_raw(), ids.len() / n_used);
        let (ids, n_x, x) = (ids.as_ptr(), x.len(), x.as_ptr());
        options.run(|o, e| unsafe {
            sys::ggufx_matmul_id(to, ldy, n_y, rt.as_raw(), w, ids, n_used, x, ldx, n_x, n, o, e)
        })
    }
}

/// `y[i] = w[i] x` for several matrices and one vector, at most 64.
pub fn matvec_many(
    rt: &Runtime,
    y: &mut [&mut [f32]],
    w: &[&Tensor<'_>],
    x: &[f32],
    options: MatmulOptions<'_>,
) -> Result<()> {
    const MOST: usize = sys::GGUFX_MATVEC_MAX_MATRICES;
    if y.len() != w.len() || w.len() > MOST {
        let text = format!("{} results of {} matrices, at most {}", y.len(), w.len(), MOST);
        return Err(Error::argument(text));
    }
    let mut to = [std::ptr::null_mut(); MOST];
    let mut n_y = [0; MOST];
    let mut from = [std::ptr::null(); MOST];
    for (i, (y, w)) in y.iter_mut().zip(w).enumerate() {
        (to[i], n_y[i], from[i]) = (y.as_mut_ptr(), y.len(), w.as_raw());
    }
    let (to, n_y, from, n) = (to.as_ptr(), n_y.as_ptr(), from.as_ptr(), w.len());
    options.run(|o, e| unsafe {
        sys::ggufx_matvec_many(to, n_y, rt.as_raw(), from, n, x.as_ptr(), x.len(), o, e)
    })
}
