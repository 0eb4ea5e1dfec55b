package dev.roundhouse.benchmarks.bundle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightsFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BundleDraftTest {
  private static final RandomTensor SMALL = RandomTensor.of("small", 1, 2L, 8L);

  /** Longer than what it repeats, and not a multiple of it. */
  private static final RandomTensor LARGE = RandomTensor.of("large", 2, 600_000L);

  @Test
  void shouldBeReadAsItWasDraftedWhenItHasWeights(@TempDir Path folder) throws IOException {
    Path model = folder.resolve("drafted");
    draft(List.of(LARGE, SMALL)).write(model);

    try (Bundle bundle = BundleReader.read(model)) {
      assertThat(bundle.spec().inputs().getFirst().name()).isEqualTo("x");
      assertThat(bundle.programs("cpu"))
          .extracting(program -> program.batchSize())
          .containsExactly(1, 4);
      assertThat(bundle.weights().arguments())
          .extracting(Weight::name)
          .containsExactly("large", "small");
      try (Arena arena = Arena.ofConfined()) {
        List<MemorySegment> copies = copies(bundle.weights(), arena);
        bundle.weights().verify(copies::get);
        assertThat(numbers(copies.get(0), 16)).isEqualTo(LARGE.first(16));
        assertThat(numbers(copies.get(1), 16)).isEqualTo(SMALL.first(16));
      }
    }
  }

  @Test
  void shouldBeReadAsItWasDraftedWhenItHasNoWeights(@TempDir Path folder) throws IOException {
    draft(List.of()).write(folder.resolve("drafted"));

    try (Bundle bundle = BundleReader.read(folder.resolve("drafted"))) {
      assertThat(bundle.weights().arguments()).isEmpty();
    }
  }

  @Test
  void shouldHoldOtherNumbersWhenTheSeedIsAnother() {
    assertThat(RandomTensor.of("w", 3, 64L).first(16))
        .isNotEqualTo(RandomTensor.of("w", 4, 64L).first(16));
  }

  private static BundleDraft draft(List<RandomTensor> weights) {
    return new BundleDraft(
        "for a test",
        List.of("{name: x, dtype: f32, shape: [n, 16]}"),
        List.of("{name: y, dtype: f32, shape: [n, 16]}"),
        Map.of(1, "module @one {}", 4, "module @four {}"),
        weights);
  }

  private static List<MemorySegment> copies(WeightsFile file, Arena arena) {
    List<MemorySegment> copies =
        file.arguments().stream().map(weight -> arena.allocate(weight.type().byteSize())).toList();
    IntStream.range(0, copies.size()).forEach(i -> file.copyTo(i, copies.get(i)));
    return copies;
  }

  private static float[] numbers(MemorySegment tensor, int count) {
    return tensor.asSlice(0, (long) count * Float.BYTES).toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }
}
