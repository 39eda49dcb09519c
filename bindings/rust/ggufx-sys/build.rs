//! Finds libggufx: in the folder GGUFX_LIB_DIR, else by pkg-config; not needed with `dlopen`.
//! Without it, documentation and checks still work, but programs do not link.
// SPDX-License-Identifier: MIT
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=GGUFX_LIB_DIR");
    println!("cargo:rerun-if-env-changed=GGUFX_STATIC");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG");
    let documented = env::var_os("DOCS_RS").is_some();
    if documented || env::var_os("CARGO_FEATURE_DLOPEN").is_some() {
        return;
    }
    let fixed = env::var_os("GGUFX_STATIC").is_some();
    if let Ok(folder) = env::var("GGUFX_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", folder);
        println!("cargo:rustc-link-lib={}ggufx", if fixed { "static=" } else { "dylib=" });
        if fixed {
            for library in ["stdc++", "m", "pthread", "dl"] {
                println!("cargo:rustc-link-lib=dylib={}", library);
            }
        }
        return;
    }
    match ask_pkg_config(fixed) {
        Ok(flags) => print_flags(&flags, fixed),
        Err(reason) => {
            let reason = reason.replace('\n', " ");
            println!("cargo:rustc-link-lib=dylib=ggufx");
            println!("cargo:warning=libggufx was not found, no program will link: {}", reason);
            println!("cargo:warning=set GGUFX_LIB_DIR or PKG_CONFIG_PATH, or use the feature dlopen");
        }
    }
}

fn ask_pkg_config(fixed: bool) -> Result<String, String> {
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let mut command = Command::new(&tool);
    command.args(["--libs", "ggufx"]);
    if fixed {
        command.arg("--static");
    }
    let output = command.output().map_err(|e| format!("{}: {}", tool, e))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

fn print_flags(flags: &str, fixed: bool) {
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        } else if let Some(name) = flag.strip_prefix("-l") {
            let kind = if fixed && name == "ggufx" { "static=" } else { "dylib=" };
            println!("cargo:rustc-link-lib={}{}", kind, name);
        } else if flag.contains("libggufx.so") {
            // An uninstalled tree is named by its file.
            if let Some(folder) = std::path::Path::new(flag).parent() {
                println!("cargo:rustc-link-search=native={}", folder.display());
                println!("cargo:rustc-link-lib=dylib=ggufx");
            }
        }
    }
}
