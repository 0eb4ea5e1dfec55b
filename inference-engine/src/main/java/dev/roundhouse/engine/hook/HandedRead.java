package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.state.HandedTensor;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads what a call has left on the device, once, if the code of the meta looks at it. */
final class HandedRead implements Supplier<MemorySegment> {
  private final String name;
  private final HandedTensor tensor;
  private final HookMemory memory;
  private @Nullable MemorySegment read; // guarded by this

  HandedRead(String name, HandedTensor tensor, HookMemory memory) {
    this.name = name;
    this.tensor = tensor;
    this.memory = memory;
  }

  /** Where it is, for another call. */
  HandedTensor tensor() {
    return tensor;
  }

  @Override
  public synchronized MemorySegment get() {
    MemorySegment known = read;
    if (known == null) {
      MemorySegment made = memory.make(name, tensor.byteSize());
      tensor.copyTo(0, made, 0, made.byteSize());
      known = made.asReadOnly();
      read = known;
    }
    return known;
  }
}
