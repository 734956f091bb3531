use super::*;

#[test]
fn buckets_reach_up_to_powers_of_two_and_counts_and_ratios_have_their_own() {
    let bucket_of = |record: &dyn Fn(&Histogram)| {
        let (histogram, mut buckets) = (Histogram::default(), [0; BUCKETS]);
        record(&histogram);
        let sum = histogram.add_to(&mut buckets);
        (buckets.iter().position(|&count| count == 1), sum)
    };
    let times = [0, 1, 1000, 1001, 2000, 2001, 4000, 1_000_000, u64::MAX];
    for (nanos, bucket) in times.into_iter().zip([0, 0, 0, 1, 1, 2, 2, 10, 24]) {
        let time = Duration::from_nanos(nanos);
        assert_eq!(bucket_of(&|of| of.record(time)), (Some(bucket), nanos), "{nanos}");
    }
    for (count, bucket) in [(0, 0), (1, 0), (2, 1), (3, 2), (16_384, 14), (u64::MAX, 24)] {
        assert_eq!(bucket_of(&|of| of.record_count(count)), (Some(bucket), count));
    }
    for (part, whole, bucket, sum) in [
        (1, 1 << 20, 0, 1),
        (1, 4, 8, 250_000),
        (3, 4, 10, 750_000),
        (7, 7, 10, 1_000_000),
        (9, 8, 11, 1_125_000),
        (5, 0, 13, 5_000_000),
    ] {
        assert_eq!(bucket_of(&|of| of.record_ratio(part, whole)), (Some(bucket), sum), "{part} of {whole}");
    }
}

#[test]
fn totals_of_several_reactors_add_up() {
    let (one, other) = (Totals::default(), Totals::default());
    one.publish(&Tally { accepted: 1, ..Tally::default() });
    one.publish(&Tally { accepted: 2, bytes_sent: 5, ..Tally::default() });
    other.publish(&Tally { accepted: 3, ..Tally::default() });
    let mut sum = Tally::default();
    one.add_to(&mut sum);
    other.add_to(&mut sum);
    assert_eq!(sum, Tally { accepted: 5, bytes_sent: 5, ..Tally::default() });
}
