//! Linux's figures for a process: CPU time per thread, and memory.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// CPU time of a process at one moment.
#[derive(Clone, Default)]
pub(crate) struct CpuTime {
    /// Nanoseconds on a CPU by thread id, with the thread's name.
    threads: BTreeMap<u32, (String, u64)>,
    /// Clock ticks of the whole process, in user mode and in the kernel.
    ticks: (u64, u64),
}

/// CPU time of a process between two moments, in nanoseconds.
#[derive(Default)]
pub(crate) struct CpuUse {
    /// CPU time of all threads.
    pub(crate) total: u64,
    /// CPU time of the main thread: in Node, the one that runs JavaScript.
    pub(crate) main: u64,
    /// CPU time by thread name; the main thread is `main`, and threads of equal names are added up.
    pub(crate) threads: BTreeMap<String, u64>,
    /// Share of the total in user mode, from the kernel's coarser
    /// tick counts; 0 when there were none.
    pub(crate) user_share: f64,
}

impl CpuTime {
    /// Reads the CPU time of process `pid`. `/proc/<pid>/task/<tid>/schedstat` counts
    /// nanoseconds and includes the kernel's work.
    pub(crate) fn read(pid: u32) -> io::Result<Self> {
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let path = entry?.path();
            let Some(tid) = path.file_name().and_then(|name| name.to_str()?.parse().ok()) else { continue };
            // A thread may end between the listing and the reading.
            let Ok(stat) = fs::read_to_string(path.join("schedstat")) else { continue };
            let Ok(name) = fs::read_to_string(path.join("comm")) else { continue };
            let run = stat.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
            let name = if tid == pid { "main".to_owned() } else { name.trim_end().to_owned() };
            threads.insert(tid, (name, run));
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field, the name, may hold spaces and parentheses.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().skip(11);
        let mut ticks = || fields.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        Ok(Self { threads, ticks: (ticks(), ticks()) })
    }

    /// The CPU time that was used from `earlier` to `self`.
    pub(crate) fn since(&self, earlier: &Self) -> CpuUse {
        let mut used = CpuUse::default();
        for (tid, (name, run)) in &self.threads {
            let before = earlier.threads.get(tid).map_or(0, |(_, run)| *run);
            let run = run.saturating_sub(before);
            used.total += run;
            if name == "main" {
                used.main = run;
            }
            *used.threads.entry(name.clone()).or_default() += run;
        }
        used.threads.retain(|_, run| *run > 0);
        let user = self.ticks.0.saturating_sub(earlier.ticks.0) as f64;
        let system = self.ticks.1.saturating_sub(earlier.ticks.1) as f64;
        used.user_share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
        used
    }
}

/// Resident memory of a process in KiB, page-exact: `VmRSS` of `/proc/<pid>/status` may lag
/// behind by a batch of pages per thread.
pub(crate) fn resident_kib(pid: u32) -> Result<u64, Box<dyn Error>> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:")).ok_or("no Rss in smaps_rollup")?;
    Ok(line.trim().trim_end_matches("kB").trim_end().parse()?)
}

/// Memory of the kernel's objects in KiB: sockets, files, entries of epoll.
pub(crate) fn kernel_kib() -> Result<u64, Box<dyn Error>> {
    let info = fs::read_to_string("/proc/meminfo")?;
    let line = info.lines().find_map(|line| line.strip_prefix("Slab:")).ok_or("no Slab in meminfo")?;
    Ok(line.trim().trim_end_matches("kB").trim_end().parse()?)
}

/// CPU time that a server spends while nothing happens: waits until it is quiet (at most
/// 5 s), then watches for `length`.
pub(crate) fn idle_use(pid: u32, length: Duration) -> io::Result<CpuUse> {
    let step = Duration::from_millis(250);
    let give_up = Instant::now() + Duration::from_secs(5);
    let mut before = CpuTime::read(pid)?;
    loop {
        std::thread::sleep(step);
        let now = CpuTime::read(pid)?;
        let used = now.since(&before).total;
        before = now;
        if used < 20_000 || Instant::now() > give_up {
            break;
        }
    }
    std::thread::sleep(length);
    Ok(CpuTime::read(pid)?.since(&before))
}

/// Runs the calling thread on one CPU only.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: cpu_set_t is a plain bit array for which all zeros is the empty set; CPU_SET checks
    // nothing but indexes within it for every cpu below CPU_SETSIZE, which the assertion holds;
    // sched_setaffinity only reads the set, for the size given.
    let status = unsafe {
        assert!(cpu < libc::CPU_SETSIZE as usize, "no such CPU");
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Raises the limit of open files to the maximum that the process may have.
pub(crate) fn raise_file_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls take a pointer to an rlimit that lives across the call.
    let status = unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
