use crate::engine::Engine;
use crate::reactor::{Connection, Transport};

/// What only few connections have at a time is boxed.
#[test]
#[cfg(target_pointer_width = "64")]
fn an_idle_connection_is_small() {
    // The socket is larger in a build with assertions.
    let size = size_of::<Connection>() - size_of::<Transport>();
    assert!(size <= 220, "{size}");
    assert!(size_of::<Engine>() <= 48, "{}", size_of::<Engine>());
}
