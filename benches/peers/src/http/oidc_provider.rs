//! Installs oidc-provider with npm, under `target`, when it is first needed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::CHAINS;
use crate::material::{CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SCOPE};

const VERSION: &str = "9.13.3";
const SCRIPT: &str = include_str!("../../node/provider.mjs");

/// Returns the program and its arguments. Without node or npm, prints why and returns `None`.
pub(crate) fn command(target: &Path) -> Option<Vec<String>> {
    match install(target) {
        Ok(script) => {
            let script = script.to_string_lossy().into_owned();
            let chains = CHAINS.to_string();
            let args = ["node", &script, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SCOPE, &chains];
            Some(args.map(str::to_owned).to_vec())
        }
        Err(why) => {
            eprintln!("node oidc-provider is skipped: {why}");
            None
        }
    }
}

fn install(target: &Path) -> Result<PathBuf, String> {
    let folder = target.join("oidc-provider");
    let script = folder.join("provider.mjs");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    std::fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
    if !Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Err("node is not installed".to_owned());
    }
    if !is_installed(&folder) {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--silent", "--prefix"]).arg(&folder);
        npm.arg(format!("oidc-provider@{VERSION}"));
        let status = npm.stdout(Stdio::null()).status().map_err(|error| format!("npm: {error}"))?;
        if !status.success() {
            return Err(format!("npm could not install oidc-provider {VERSION}"));
        }
    }
    Ok(script)
}

fn is_installed(folder: &Path) -> bool {
    let manifest = std::fs::read(folder.join("node_modules/oidc-provider/package.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap_or_default();
    manifest["version"] == VERSION
}
