package dev.roundhouse.engine.observe;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class TimeHistogramTest {
  private static final int KINDS = 3;
  private static final int KIND = 1;
  private static final double STEP = 1.0 / TimeHistogram.BUCKETS_PER_DOUBLING;

  @Test
  void shouldPutEachTimeBetweenTheBoundsOfItsBucket() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 200_000; i++) {
      long nanos = random.nextLong(1, 1L << random.nextInt(1, 63));
      double seconds = nanos * 1e-9;
      int bucket = TimeHistogram.bucket(nanos);
      assertThat(seconds)
          .as("%d ns in bucket %d; seed %d", nanos, bucket, seed)
          .isLessThanOrEqualTo(Math.pow(2, bucket * STEP))
          .isGreaterThan(Math.pow(2, (bucket - 1) * STEP));
    }
  }

  @Test
  void shouldPutPowersOfTwoAtTheUpperEndOfTheirBuckets() {
    assertThat(TimeHistogram.bucket(1_000_000_000)).isZero();
    assertThat(TimeHistogram.bucket(1_000_000_001)).isEqualTo(1);
    assertThat(TimeHistogram.bucket(500_000_000)).isEqualTo(-8);
    assertThat(TimeHistogram.bucket(500_000_001)).isEqualTo(-7);
    assertThat(TimeHistogram.bucket(4_000_000_000L)).isEqualTo(16);
  }

  @Test
  void shouldTakeWhatIsNoTimeForTheShortest() {
    int shortest = TimeHistogram.bucket(1);
    assertThat(TimeHistogram.bucket(0)).isEqualTo(shortest);
    assertThat(TimeHistogram.bucket(-5)).isEqualTo(shortest);
    assertThat(TimeHistogram.bucket(Long.MAX_VALUE)).isGreaterThan(TimeHistogram.bucket(1L << 62));
  }

  @Test
  void shouldMakeRoomForShorterAndLongerTimes() {
    TimeBuckets buckets = new TimeBuckets(KINDS);
    assertThat(buckets.read(KIND)).isEqualTo(TimeHistogram.EMPTY);
    int[] added = {3, 3, -20, 40, 0, -20};
    Arrays.stream(added).forEach(bucket -> buckets.count(KIND, bucket));

    TimeHistogram read = buckets.read(KIND);
    assertThat(total(read)).isEqualTo(added.length);
    assertThat(count(read, 3)).isEqualTo(2);
    assertThat(count(read, -20)).isEqualTo(2);
    assertThat(count(read, 40)).isEqualTo(1);
    assertThat(count(read, 0)).isEqualTo(1);
    assertThat(count(read, 4)).isZero();
  }

  @Test
  void shouldAddUpWhateverEachHasRoomFor() {
    TimeBuckets low = new TimeBuckets(KINDS);
    TimeBuckets high = new TimeBuckets(KINDS);
    low.count(KIND, -100);
    low.count(KIND, 5);
    high.count(KIND, 5);
    high.count(KIND, 100);

    TimeHistogram both = low.read(KIND).plus(high.read(KIND));
    assertThat(both).isEqualTo(high.read(KIND).plus(low.read(KIND)));
    assertThat(total(both)).isEqualTo(4);
    assertThat(count(both, 5)).isEqualTo(2);
    assertThat(low.read(KIND).plus(TimeHistogram.EMPTY)).isEqualTo(low.read(KIND));
  }

  @Test
  void shouldKeepKindsApart() {
    TimeBuckets buckets = new TimeBuckets(KINDS);
    for (int kind = 0; kind < KINDS; kind++) {
      for (int i = 0; i <= kind; i++) {
        buckets.count(kind, 10 * kind - 3);
      }
    }
    for (int kind = 0; kind < KINDS; kind++) {
      assertThat(total(buckets.read(kind))).isEqualTo(kind + 1);
      assertThat(count(buckets.read(kind), 10 * kind - 3)).isEqualTo(kind + 1);
    }
  }

  @Test
  void shouldCountBeyond32Bits() {
    TimeBuckets buckets = new TimeBuckets(KINDS);
    buckets.count(KIND, 3);
    buckets.fill();
    buckets.count(KIND, 3);
    buckets.count(KIND, 3);
    buckets.count(KIND, -20);
    assertThat(count(buckets.read(KIND), 3)).isEqualTo((1L << 32) + 1);
    assertThat(count(buckets.read(KIND), 4)).isEqualTo((1L << 32) - 1);
    assertThat(count(buckets.read(KIND), -20)).isEqualTo(1);
  }

  static long total(TimeHistogram of) {
    return LongStream.range(0, of.size()).map(i -> of.count((int) i)).sum();
  }

  private static long count(TimeHistogram of, int bucket) {
    return of.count(bucket - of.first());
  }
}
