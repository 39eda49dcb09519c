//! A KV cache of 4 bits a value: append 300 tokens, attend over them with one query.
// SPDX-License-Identifier: MIT
use ggufx::{AttendOptions, KvCache, KvOptions, KvQueries, KvTokens, TensorType, Result, Runtime};

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0).collect()
}

fn main() -> Result<()> {
    let (n_tokens, n_kv_heads, n_q_heads, dim) = (300, 2, 4, 64);
    let rt = Runtime::new()?;
    let options = KvOptions {
        n_layers: 1,
        n_kv_heads: n_kv_heads as u32,
        n_q_heads: n_q_heads as u32,
        head_dim_k: dim as u32,
        type_k: Some(TensorType::GX4),
        type_v: Some(TensorType::GX4),
        ..Default::default()
    };
    let mut kv = KvCache::new(&rt, options)?;
    let k = numbers(n_tokens * n_kv_heads * dim);
    let rows = Some(k[..].into());
    kv.append(KvTokens { n_tokens, k: rows, v: rows, ..Default::default() })?;
    let (q, mut out) = (numbers(n_q_heads * dim), vec![0.0; n_q_heads * dim]);
    let queries = KvQueries { n_queries: 1, q: &q, ..Default::default() };
    kv.attend(&mut out, None, queries, AttendOptions::default())?;
    println!("{} tokens, out[0] = {:.6}, out[255] = {:.6}", n_tokens, out[0], out[255]);
    Ok(())
}
