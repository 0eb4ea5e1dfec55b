package dev.roundhouse.benchmarks.bundle;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * An f32 weight of multiples of 1/256 in [0, 1), so that small sums of them are exact. After a
 * mebibyte it repeats, as gigabytes would otherwise take longer to make than to load. Tensors of
 * different seeds differ.
 *
 * @param seed decides the numbers
 */
public record RandomTensor(String name, List<Long> dims, long seed) {
  private static final int PERIOD = 1 << 18;

  public RandomTensor {
    dims = List.copyOf(dims);
  }

  public static RandomTensor of(String name, long seed, Long... dims) {
    return new RandomTensor(name, List.of(dims), seed);
  }

  public long byteSize() {
    return elements() * Float.BYTES;
  }

  /** As StableHLO writes it. */
  public String type() {
    return dims.stream().map(dim -> dim + "x").collect(Collectors.joining("", "tensor<", "f32>"));
  }

  /** The first of its numbers, in the order they lie. */
  public float[] first(int count) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] numbers = new float[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = next(random);
    }
    return numbers;
  }

  /** What is written again and again until the tensor is full. */
  byte[] period() {
    int count = (int) Math.min(PERIOD, elements());
    ByteBuffer bytes = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < count; i++) {
      bytes.putFloat(next(random));
    }
    return bytes.array();
  }

  private static float next(SplittableRandom random) {
    return (random.nextInt() >>> 24) / 256f;
  }

  private long elements() {
    return dims.stream().reduce(1L, Math::multiplyExact);
  }
}
