//! The whole interface on the demo model and on small files made here.
// SPDX-License-Identifier: MIT
mod allocations;
mod files;
mod followed;
mod hooks;
mod imatrix;
mod estimates;
mod jobs;
mod kv;
mod layout;
mod models;
mod options;
mod products;
mod writing;

use ggufx::{Error, File, Runtime, Status};

pub fn model_path() -> String {
    std::env::var("GGUFX_TEST_MODEL").expect("GGUFX_TEST_MODEL names the demo model")
}
pub fn runtime() -> Runtime {
    Runtime::options().threads(2).create().unwrap()
}
pub fn demo(rt: &Runtime) -> File {
    File::open(rt, model_path()).unwrap()
}
/// A path of this test's own.
pub fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("ggufx-rust-{}-{}", std::process::id(), name))
}
#[track_caller]
pub fn fails<T>(result: Result<T, Error>, status: Status) -> Error {
    match result {
        Ok(_) => panic!("no failure, expected {:?}", status),
        Err(error) => {
            assert_eq!(error.status(), status, "{}", error);
            assert!(!error.message().is_empty());
            error
        }
    }
}
/// Numbers between -1 and 1, the same each time.
pub fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0).collect()
}
