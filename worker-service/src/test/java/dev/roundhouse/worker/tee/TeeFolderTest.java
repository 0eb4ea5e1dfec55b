package dev.roundhouse.worker.tee;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.model.ModelStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TeeFolderTest {
  @TempDir Path path;
  private Ring ring;
  private Batch batch;
  private SafetensorsFile file;

  @BeforeEach
  void fill() throws Exception {
    List<TensorSpec> x = List.of(new TensorSpec("x", DType.I64, List.of(Axis.BATCH)));
    ModelStatus status = ModelStatus.loading("m", "1").ready(RingTest.model(x, x), 1, 0);
    TeeSpec spec = TeeSpec.of(status, 1, 1);
    RingMemory memory = new RingMemory(spec, 2, new TeeMemory(1 << 20), Runnable::run);
    ring = new Ring(spec, 2, memory, new TeeCounts(), System::nanoTime);
    Ring.Cursor reader = Objects.requireNonNull(ring.attach());
    ring.commit(ring.reserve(1), 1, true);
    ring.poll(reader);
    batch = ring.take(reader);
    file = SafetensorsFile.of(batch);
  }

  @AfterEach
  void free() {
    batch.close();
    ring.discardAll();
  }

  private List<Path> there() throws IOException {
    try (Stream<Path> all = Files.list(path)) {
      return all.sorted().toList();
    }
  }

  @Test
  void shouldKeepTheNewestThatFit() throws Exception {
    TeeFolder folder = new TeeFolder(path, 3 * file.byteSize());
    for (int i = 0; i < 5; i++) {
      folder.write("m", file);
    }
    assertThat(there()).hasSize(3);
    assertThat(there().getFirst().toString()).contains("-000000002.");
    TeeFolder next = new TeeFolder(path, 2 * file.byteSize());
    next.write("m", file);
    assertThat(there()).as("of both").hasSize(2);
  }

  @Test
  void shouldForgetWhatALearnerHasDeleted() throws Exception {
    TeeFolder folder = new TeeFolder(path, 1_000 * file.byteSize());
    for (int i = 0; i < 10; i++) {
      folder.write("m", file);
    }
    assertThat(folder.known()).isEqualTo(10);
    for (Path each : there().subList(0, 8)) {
      Files.delete(each);
    }
    folder.write("m", file);
    assertThat(folder.known()).isEqualTo(3);
    assertThat(there()).hasSize(3);
  }

  @Test
  void shouldWriteNothingThatIsLargerThanTheFolder() throws Exception {
    TeeFolder folder = new TeeFolder(path, file.byteSize() - 1);
    assertThatThrownBy(() -> folder.write("m", file)).hasMessageContaining("tee.folder-size");
    assertThat(there()).isEmpty();
  }
}
