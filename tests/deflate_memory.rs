//! The memory of compression, as an allocator counts it: the formula of `engine::deflate`, and the
//! memory that a bomb gets.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reactor_ws::engine::deflate::{INFLATER_BYTES, Params, Pool, Settings};
use reactor_ws::engine::{Config, Engine, ErrorKind, Event, FrameKind, Role};

/// The system's allocator with counters.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does all the work; the counters do not touch memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises about `pointer` and `layout` are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        PEAK.fetch_max(live - layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises about `pointer`, `layout` and `size` are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An engine, with its bookkeeping of contexts apart from the measured memory.
const SLACK: usize = 1024;

fn engine(role: Role, no_takeover: bool, settings: &Settings, pool: &Arc<Pool>) -> Engine {
    let params = Params {
        server_no_context_takeover: no_takeover,
        client_no_context_takeover: no_takeover,
        ..Params::default()
    };
    let mut engine = Engine::new();
    engine.enable_deflate(role, params, settings, pool);
    engine
}

fn message(engine: &mut Engine, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    assert!(engine.will_compress(true, payload.len()));
    engine.compress(payload, true, &mut body);
    let mut bytes = engine.encode(FrameKind::Binary, true, body.len(), Some([0; 4])).to_vec();
    bytes.extend_from_slice(&body);
    bytes
}

fn take(engine: &mut Engine, config: &Config, bytes: &mut [u8]) -> Option<Event> {
    engine.poll(config, bytes, &mut 0)
}

/// One test only: the counters are those of the whole process.
#[test]
fn memory_is_what_the_formula_says() {
    let pool = Arc::new(Pool::new(usize::MAX));
    let config = Config::default();
    for (mem_level, window_bits) in [(8, 15), (4, 10), (9, 8)] {
        let settings = Settings { mem_level, threshold: 0, ..Settings::default() };
        let params = Params { server_max_window_bits: window_bits, ..Params::default() };
        let mut kept = Vec::new();
        // The memory that the pool keeps for all is not part of a connection's cost.
        message(&mut engine(Role::Server, true, &settings, &pool), b"warm");
        for _ in 0..3 {
            let mut server = Engine::new();
            server.enable_deflate(Role::Server, params, &settings, &pool);
            let before = LIVE.load(Ordering::Relaxed);
            drop(message(&mut server, b"a message"));
            let taken = LIVE.load(Ordering::Relaxed).saturating_sub(before);
            kept.push((server, taken));
        }
        let formula = settings.deflater_bytes(window_bits);
        let (_, taken) = kept.last().unwrap();
        assert!(taken.abs_diff(formula) <= 2 * SLACK, "{mem_level} {window_bits}: {taken}, not {formula}");
        pool.forget_message();
    }

    let settings = Settings { threshold: 0, ..Settings::default() };
    let mut client = engine(Role::Client, false, &settings, &pool);
    let mut servers: Vec<Engine> = (0..8).map(|_| engine(Role::Server, false, &settings, &pool)).collect();
    let bytes = message(&mut client, &[5; 3000]);
    let mut taken = 0;
    for server in &mut servers {
        let before = LIVE.load(Ordering::Relaxed);
        let mut bytes = bytes.clone();
        assert!(matches!(take(server, &config, &mut bytes), Some(Event::Message { .. })));
        drop(bytes);
        taken = LIVE.load(Ordering::Relaxed).saturating_sub(before);
    }
    assert!(taken <= INFLATER_BYTES && taken > INFLATER_BYTES / 2, "{taken}");
    drop(servers);

    idle_connections_hold_nothing(&settings, &config, &pool);
    a_bomb_costs_the_limit_and_64_kib(&settings);
}

/// Without context takeover only the bookkeeping stays with a connection.
fn idle_connections_hold_nothing(settings: &Settings, config: &Config, pool: &Arc<Pool>) {
    let mut client = engine(Role::Client, true, settings, pool);
    let bytes = message(&mut client, &[5; 3000]);
    let round = |server: &mut Engine| {
        let mut bytes = bytes.clone();
        assert!(matches!(take(server, config, &mut bytes), Some(Event::Message { .. })));
        drop(message(server, &[6; 3000]));
    };
    round(&mut engine(Role::Server, true, settings, pool));
    let before = LIVE.load(Ordering::Relaxed);
    let mut servers = Vec::with_capacity(100);
    for _ in 0..100 {
        servers.push(engine(Role::Server, true, settings, pool));
    }
    servers.iter_mut().for_each(round);
    let each = LIVE.load(Ordering::Relaxed).saturating_sub(before) / 100;
    assert!(each <= SLACK, "{each} bytes for each");
}

/// Z02: with all memory that inflating needs, from a pool that has none yet.
fn a_bomb_costs_the_limit_and_64_kib(settings: &Settings) {
    const LIMIT: usize = 1 << 20;
    let mut client = engine(Role::Client, true, settings, &Arc::new(Pool::new(0)));
    let mut bomb = message(&mut client, &vec![0; 100 << 20]);
    drop(client);
    let config = Config { max_payload: LIMIT as u64, ..Config::default() };
    let mut server = engine(Role::Server, true, settings, &Arc::new(Pool::new(0)));
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let Some(Event::Error(error)) = take(&mut server, &config, &mut bomb) else {
        panic!("a bomb is refused")
    };
    assert_eq!(error.kind, ErrorKind::UnsupportedMessageLength);
    let extra = PEAK.load(Ordering::Relaxed) - before;
    assert!(extra <= LIMIT + (64 << 10), "{extra}");
}
