package dev.roundhouse.engine.observe;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TimeHistogramTest {
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
    TimeBuckets buckets = new TimeBuckets();
    assertThat(buckets.read()).isEqualTo(TimeHistogram.EMPTY);
    int[] added = {3, 3, -20, 40, 0, -20};
    Arrays.stream(added).forEach(buckets::add);

    TimeHistogram read = buckets.read();
    assertThat(read.total()).isEqualTo(added.length);
    assertThat(count(read, 3)).isEqualTo(2);
    assertThat(count(read, -20)).isEqualTo(2);
    assertThat(count(read, 40)).isEqualTo(1);
    assertThat(count(read, 0)).isEqualTo(1);
    assertThat(count(read, 4)).isZero();
  }

  @Test
  void shouldAddUpWhateverEachHasRoomFor() {
    TimeBuckets low = new TimeBuckets();
    TimeBuckets high = new TimeBuckets();
    low.add(-100);
    low.add(5);
    high.add(5);
    high.add(100);

    TimeHistogram both = low.read().plus(high.read());
    assertThat(both).isEqualTo(high.read().plus(low.read()));
    assertThat(both.total()).isEqualTo(4);
    assertThat(count(both, 5)).isEqualTo(2);
    assertThat(low.read().plus(TimeHistogram.EMPTY)).isEqualTo(low.read());
  }

  private static long count(TimeHistogram of, int bucket) {
    return of.count(bucket - of.first());
  }
}
