package dev.roundhouse.engine.residency;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model's weights in host memory: one block, every tensor at a 64-byte boundary, bytes as the
 * device wants them. Readable from any thread until closed; never written after it is made.
 */
final class HostFloor implements AutoCloseable {
  /** Devices read host memory in place only from here on: shorter alignment makes them copy. */
  static final long ALIGNMENT = 64;

  /** Of every model that has no weights. */
  private static final HostFloor NOTHING =
      new HostFloor(null, MemorySegment.NULL, List.of(), new long[0]);

  private final @Nullable Arena arena;
  private final MemorySegment block;
  private final List<Weight> weights;
  private final long[] offsets;

  private HostFloor(
      @Nullable Arena arena, MemorySegment block, List<Weight> weights, long[] offsets) {
    this.arena = arena;
    this.block = block;
    this.weights = weights;
    this.offsets = offsets;
  }

  static HostFloor of(WeightSource source) {
    List<Weight> weights = source.arguments();
    long[] offsets = new long[weights.size()];
    long size = 0;
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = size;
      size = align(Math.addExact(size, weights.get(i).type().byteSize()));
    }
    if (offsets.length == 0) {
      source.verify(index -> MemorySegment.NULL);
      return NOTHING;
    }
    Arena arena = Arena.ofShared();
    try {
      MemorySegment block = arena.allocate(Math.max(size, ALIGNMENT), ALIGNMENT);
      HostFloor floor = new HostFloor(arena, block, weights, offsets);
      for (int i = 0; i < offsets.length; i++) {
        source.copyTo(i, floor.tensor(i));
      }
      source.verify(floor::tensor);
      return floor;
    } catch (RuntimeException | Error e) {
      arena.close();
      throw e;
    }
  }

  int count() {
    return weights.size();
  }

  TensorType type(int index) {
    return weights.get(index).type();
  }

  MemorySegment tensor(int index) {
    return block.asSlice(offsets[index], weights.get(index).type().byteSize(), 1);
  }

  long byteSize() {
    return weights.stream().mapToLong(weight -> weight.type().byteSize()).sum();
  }

  @Override
  public void close() {
    if (arena != null) {
      arena.close();
    }
  }

  private static long align(long size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}
