//! Too few descriptors, and an idle thread's share of the processor.
#![cfg(target_os = "linux")]

use std::time::Instant;

use crate::reactor::tests::*;

/// The first number of the line that the kernel keeps of this thread: nanoseconds on a processor.
fn on_cpu() -> Duration {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = line.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    Duration::from_nanos(nanos)
}

/// O10.
#[test]
fn an_idle_reactor_leaves_the_processor_alone_even_if_it_may_spin() {
    use crate::reactor::{ReactorConfig, Spin};

    let config = ReactorConfig { spin: Spin::Micros(1000), ..ReactorConfig::default() };
    let (mut reactor, address, seen) = server::reactor(Setup { reactor: config, ..Setup::default() });
    let _client = Client::asking(address);
    turns::until(&mut reactor, |_| seen.try_recv().is_ok());
    let (begun, before) = (Instant::now(), on_cpu());
    while let Some(rest) = Duration::from_millis(300).checked_sub(begun.elapsed()) {
        reactor.run_once(Some(rest)).unwrap();
    }
    let used = on_cpu() - before;
    // Spinning takes all of it.
    assert!(used < Duration::from_millis(150), "{used:?} of 300 ms");
}

/// Runs a test that is ignored otherwise in a process with a limit.
fn limited(limit: &str, test: &str) -> std::process::Output {
    let this = std::env::current_exe().expect("a test has a file");
    let name = format!("reactor::listen::tests::exhaustion::{test}");
    std::process::Command::new("sh")
        .args(["-c", &format!("ulimit -c 0 && ulimit {limit} && exec \"$0\" \"$@\"")])
        .arg(this)
        .args(["--exact", &name, "--ignored", "--nocapture"])
        .output()
        .expect("a shell")
}

/// Runs the test of the same name in a process of its own, which can have 40 descriptors.
#[test]
fn r06_without_descriptors_connections_are_closed_as_they_come() {
    let child = limited("-n 40", "r06_with_40_descriptors");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

#[test]
#[ignore = "for r06_without_descriptors_connections_are_closed_as_they_come, in a process with few descriptors"]
fn r06_with_40_descriptors() {
    let (mut reactor, address, seen) = server::reactor(Setup::default());
    // So many clients that one at least cannot be accepted; these have descriptors enough.
    let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
    clients.iter_mut().for_each(|client| client.write(UPGRADE.as_bytes()));
    let (mut open, mut refused) = (0, 0);
    turns::until(&mut reactor, |_| {
        for (_, seen) in seen.try_iter() {
            match seen {
                Seen::Open(_) => open += 1,
                Seen::Refused(count) => refused += count as usize,
                _ => {}
            }
        }
        open + refused == clients.len()
    });
    assert!(open > 0 && refused > 0, "{open} open, {refused} refused");
    // In the order in which they came.
    let mut excess = clients.split_off(open);
    for client in &mut excess {
        assert!(client.read_to_end().is_empty());
    }
    // With an empty queue the reactor waits for an event: the next client is closed at once.
    assert!(reactor.listeners.by_id.values().all(|listener| listener.retry_at.is_none()));
    // One client gives up a descriptor, and the next one takes it.
    drop(excess.pop());
    let mut client = Client::connect(address);
    // The exhaustion is reported without another connection.
    turns::until(&mut reactor, |_| seen.try_iter().any(|(_, seen)| matches!(seen, Seen::Refused(1))));
    assert!(client.read_to_end().is_empty());
    drop((client, excess));
    // The other clients are served, and make room for one that comes later.
    for client in &mut clients {
        assert!(client.read_head().starts_with("HTTP/1.1 101"));
    }
    clients.into_iter().for_each(Client::reset);
    turns::until(&mut reactor, |_| {
        open -= seen.try_iter().filter(|(_, seen)| matches!(seen, Seen::Closed)).count();
        open == 0
    });
    let _late = Client::asking(address);
    turns::until(&mut reactor, |_| seen.try_iter().any(|(_, seen)| matches!(seen, Seen::Open(_))));
}

/// Where memory ends, the process ends at once, with the reason: nothing is left half done.
#[test]
fn r18_without_memory_the_process_ends() {
    use std::os::unix::process::ExitStatusExt;

    let child = limited("-v 600000", "r18_with_600_megabytes");
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{said}");
    assert!(said.contains("memory allocation of"), "{said}");
}

#[test]
#[ignore = "for r18_without_memory_the_process_ends, in a process with little memory"]
fn r18_with_600_megabytes() {
    let mut listener = crate::reactor::ListenerConfig::default();
    listener.engine.max_payload = 0;
    let server = Server::serve(listener);
    let mut client = Client::open(server.address);
    client.send("82 ff 00000000ffffffff 00000000");
    let piece = vec![7; 1 << 20];
    for _ in 0..4096 {
        client.write(&piece);
    }
}
