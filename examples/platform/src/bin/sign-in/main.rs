//! A program without a browser that signs its user in at the platform, by the device authorization grant [RFC 8628].
//!
//! `cargo run -p platform --bin sign-in` shows an address and a code. The user opens the address in a browser, on this
//! machine or another, and types the code there. The program then says who is signed in. It keeps no token.

mod failure;
mod platform;
mod polling;
mod qr_code;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::platform::{Asked, Platform, Profile};

const USAGE: &str = "\
Signs you in at the platform example, from a terminal
  --issuer URL  where the platform runs, http://localhost:8080 by default
  -h, --help    print this";
const DEFAULT_ISSUER: &str = "http://localhost:8080";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match issuer(std::env::args().skip(1)) {
        Ok(Some(issuer)) => sign_in(issuer).await.map_err(|failure| failure.to_string()),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sign-in: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line. Prints the help and returns `None` if that was asked for.
fn issuer(mut args: impl Iterator<Item = String>) -> Result<Option<String>, String> {
    let mut issuer = DEFAULT_ISSUER.to_owned();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(None);
            }
            "--issuer" => issuer = args.next().ok_or("--issuer needs a URL")?.trim_end_matches('/').to_owned(),
            _ => return Err(format!("unknown option {arg}; --help lists the options")),
        }
    }
    if !platform::is_local(&issuer) {
        return Err(format!("{issuer} is not a URL of this machine like {DEFAULT_ISSUER}; this program has no TLS"));
    }
    Ok(Some(issuer))
}

async fn sign_in(issuer: String) -> Result<(), Failure> {
    let platform = Platform::find(issuer).await?;
    let asked = platform.ask().await?;
    show(&asked);
    let token = polling::wait(&platform, &asked).await?;
    match platform.profile(&token).await? {
        Some(Profile { name, user, scope }) => {
            println!("You are signed in as {name} ({user}). You allowed: {}.", scope.replace(' ', ", "));
        }
        None => println!("You are signed in, but you did not allow this program to see who you are."),
    }
    println!(
        "This program keeps no token. You can revoke its access at {}, under Authorized applications.",
        platform.issuer
    );
    Ok(())
}

/// Shows the address, as text and as a QR code, and the code.
///
/// The QR code contains the address alone. § 3.3.1: even with a link that contains the code, the user compares it with
/// the one that the device shows. Typing the code makes sure of that.
fn show(asked: &Asked) {
    println!("To sign in, open this address in a browser:\n\n    {}\n", asked.verification_uri);
    if let Some(picture) = qr_code::draw(&asked.verification_uri, std::io::stdout().is_terminal()) {
        println!("{picture}\n");
    }
    println!("Type this code there:\n\n    {}\n", asked.user_code);
}
