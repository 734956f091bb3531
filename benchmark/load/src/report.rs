//! The result of a run as one line of JSON.

use std::fmt::Write;

use hdrhistogram::Histogram;

use crate::args::Args;
use crate::process::CpuUse;

/// A JSON object under construction. Keys and strings are this program's own or
/// thread names; the latter are escaped.
pub(crate) struct Report(String);

impl Report {
    /// Begins the object with the shape of the run.
    pub(crate) fn new(args: &Args) -> Self {
        let mut report = Self(String::from("{"));
        report.text("mode", args.mode.name());
        report.integer("connections", args.connections as u64);
        report.integer("payload", args.payload as u64);
        report.integer("in_flight", args.in_flight as u64);
        report.text("kind", if args.binary { "binary" } else { "text" });
        report.integer("deflate", args.deflate.into());
        report.integer("tls", args.tls.into());
        report.integer("batch", args.batch as u64);
        report.number("pace_ms", args.pace.as_secs_f64() * 1e3);
        report
    }

    /// Adds a whole number.
    pub(crate) fn integer(&mut self, key: &str, value: u64) {
        self.raw(key, &value.to_string());
    }

    /// Adds a number, rounded to three digits after the point.
    pub(crate) fn number(&mut self, key: &str, value: f64) {
        let value = if value.is_finite() { value } else { 0.0 };
        self.raw(key, &format!("{}", (value * 1e3).round() / 1e3));
    }

    /// Adds a string.
    pub(crate) fn text(&mut self, key: &str, value: &str) {
        self.raw(key, &format!("\"{value}\""));
    }

    /// Adds the cost of `count` messages (or handshakes) in `seconds` for the server; `own` is
    /// their cost for this program.
    pub(crate) fn costs(
        &mut self,
        unit: &str,
        count: u64,
        seconds: f64,
        used: Option<&CpuUse>,
        own: &CpuUse,
    ) {
        let per = |nanoseconds: u64| if count == 0 { 0.0 } else { nanoseconds as f64 / count as f64 };
        let share = |nanoseconds: u64| nanoseconds as f64 / 1e9 / seconds;
        if let Some(used) = used {
            self.number(&format!("cpu_ns_per_{unit}"), per(used.total));
            self.number(&format!("js_cpu_ns_per_{unit}"), per(used.main));
            let mut threads = String::from("{");
            for (name, run) in &used.threads {
                let comma = if threads.len() > 1 { "," } else { "" };
                let name: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() || "-_.:".contains(c) { c } else { '_' })
                    .collect();
                // Writing to a String cannot fail.
                let _ = write!(threads, "{comma}\"{name}\":{:.1}", per(*run));
            }
            self.raw("threads", &(threads + "}"));
            self.number("server_cpu_share", share(used.total));
            self.number("server_user_share", used.user_share);
        }
        self.number("load_cpu_share", share(own.total));
    }

    /// Adds mean and quantiles of `histogram` (nanoseconds) in microseconds.
    pub(crate) fn latencies(&mut self, histogram: &Histogram<u64>) {
        let quantiles =
            [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];
        self.number("mean_us", histogram.mean() / 1e3);
        for (name, quantile) in quantiles {
            self.number(&format!("{name}_us"), histogram.value_at_quantile(quantile) as f64 / 1e3);
        }
        self.number("max_us", histogram.max() as f64 / 1e3);
    }

    /// The finished line.
    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn raw(&mut self, key: &str, value: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{comma}\"{key}\":{value}");
    }
}

/// A histogram of nanoseconds from 1 ns to 1 min; three significant
/// digits, more than the noise deserves.
pub(crate) fn histogram() -> Histogram<u64> {
    let made = Histogram::new_with_bounds(1, 60_000_000_000, 3);
    made.unwrap_or_else(|error| unreachable!("constant bounds are valid: {error}"))
}
