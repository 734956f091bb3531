//! The floor with io_uring: what `mio_echo` does, without a system
//! call for each read and each write.
//!
//! Nothing polls for it in a kernel thread (SQPOLL): that would hide CPU time where no figure
//! counts it. With `--check` it only reports whether the kernel lets it run, by its exit status and
//! a sentence.

#[cfg(target_os = "linux")]
mod buffers;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    match run(&word) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("io_uring: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run(word: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut server = server::Server::new()?;
    if word == "--check" { Ok(()) } else { server.run(word.parse()?) }
}

#[cfg(not(target_os = "linux"))]
fn run(_word: &str) -> Result<(), Box<dyn std::error::Error>> {
    Err("only Linux has it".into())
}
