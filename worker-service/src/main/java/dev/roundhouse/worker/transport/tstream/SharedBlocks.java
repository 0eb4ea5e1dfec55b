package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.transport.memory.MemoryRoot;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Has streams to the same model share their blocks. Thread-safe. */
final class SharedBlocks {
  private final MemoryRoot memory;
  private final Map<Key, Shared> shared = new ConcurrentHashMap<>();

  /** Whose rows may adjoin. */
  private record Key(String model, String version, long digest) {
    static Key of(StreamTarget target) {
      return new Key(target.model(), target.version(), target.spec().digest());
    }
  }

  private record Shared(RowBlocks blocks, int streams) {}

  SharedBlocks(MemoryRoot memory) {
    this.memory = memory;
  }

  /** For a stream, until {@link #close}. */
  RowBlocks open(StreamTarget target) {
    Shared now =
        shared.compute(
            Key.of(target),
            (key, known) ->
                known == null
                    ? new Shared(new RowBlocks(target.spec(), target.mostTogether(), memory), 1)
                    : new Shared(known.blocks, known.streams + 1));
    return Objects.requireNonNull(now).blocks;
  }

  /** Once for each that was opened. */
  void close(StreamTarget target) {
    shared.computeIfPresent(Key.of(target), (key, known) -> less(known));
  }

  private static @Nullable Shared less(Shared known) {
    return known.streams == 1 ? null : new Shared(known.blocks, known.streams - 1);
  }
}
