//! Calls whose structs are made of parameters.
// SPDX-License-Identifier: MIT
use ggufx::{
    AttendOptions, KvCache, KvQueries, KvRange, KvTokens, MatmulOptions, Product, QuantizeArgs,
    Result, Runtime, Tensor, TensorType,
};

pub fn append(
    kv: &mut KvCache,
    layer: u32,
    sequence: u32,
    n_tokens: usize,
    k: &[f32],
    v: &[f32],
) -> Result<()> {
    let (k, v) = (Some(k.into()), Some(v.into()));
    kv.append(KvTokens { layer, sequence, n_tokens, k, v, ..Default::default() })
}

pub fn query(layer: u32, sequence: u32, q: &[f32]) -> KvQueries<'_> {
    KvQueries { layer, sequence, n_queries: 1, q, ..Default::default() }
}

pub fn attend(
    kv: &KvCache,
    out: &mut [f32],
    queries: KvQueries<'_>,
    options: AttendOptions<'_>,
) -> Result<()> {
    kv.attend(out, None, queries, options)
}

pub fn range(layer: u32, sequence: u32, first: u64, n_tokens: u64) -> KvRange {
    KvRange { layer, sequence, first, n_tokens }
}

pub fn experts<'a>(
    w: &'a Tensor<'a>,
    ids: &'a [u32],
    n_used: usize,
    x: &'a [f32],
    y: &'a mut [f32],
) -> Product<'a> {
    Product { ids, n_used, ..Product::new(w, x, 1, y) }
}

pub fn matmul(rt: &Runtime, product: Product<'_>, options: MatmulOptions<'_>) -> Result<()> {
    rt.matmul(&mut [product], options)
}

pub fn quantize_blocks<'a>(
    rt: &Runtime,
    kind: TensorType,
    rows: &'a [f32],
    n_cols: usize,
    args: QuantizeArgs<'a>,
) -> Result<Vec<u8>> {
    ggufx::quantize(
        rt,
        QuantizeArgs { type_: kind, rows, n_rows: rows.len() / n_cols, n_cols, ..args },
    )
}

pub fn dequantize_blocks(
    rt: &Runtime,
    out: &mut [f32],
    kind: TensorType,
    blocks: &[u8],
) -> Result<()> {
    let w = Tensor::wrap(rt, kind, &[out.len() as u64], 0, blocks.to_vec(), "")?;
    rt.dequantize(out, &w, 0, 1)
}
