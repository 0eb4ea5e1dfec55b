package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MappedCopyTest {
  private static final long PAGE = 4096;
  private static final long SIZE = 64 * PAGE;

  @TempDir Path folder;

  @Test
  void shouldCopyBothWays() throws IOException {
    try (Arena arena = Arena.ofShared();
        FileChannel file = file("f", SIZE)) {
      MemorySegment mapped = file.map(MapMode.READ_WRITE, 0, SIZE, arena);
      MemorySegment own = arena.allocate(SIZE).fill((byte) 7);
      assertThat(MappedCopy.copy(own, mapped)).isTrue();
      assertThat(Files.readAllBytes(folder.resolve("f"))).containsOnly(7);
      mapped.set(ValueLayout.JAVA_BYTE, SIZE - 1, (byte) 9);
      assertThat(MappedCopy.copy(mapped, own)).isTrue();
      assertThat(own.get(ValueLayout.JAVA_BYTE, SIZE - 1)).isEqualTo((byte) 9);
      assertThat(MappedCopy.copy(mapped.asSlice(3, 0), own.asSlice(0, 0))).isTrue();
    }
  }

  @Test
  void shouldSayThatPagesAreGoneAndGoOn() throws IOException {
    try (Arena arena = Arena.ofShared();
        FileChannel file = file("f", SIZE)) {
      MemorySegment mapped = file.map(MapMode.READ_WRITE, 0, SIZE, arena);
      MemorySegment own = arena.allocate(SIZE);
      file.truncate(PAGE);
      for (int i = 0; i < 100; i++) {
        assertThat(MappedCopy.copy(mapped, own)).as("reading").isFalse();
        assertThat(MappedCopy.copy(own, mapped)).as("writing").isFalse();
        assertThat(MappedCopy.copy(mapped.asSlice(0, PAGE), own.asSlice(0, PAGE))).isTrue();
      }
    }
  }

  @Test
  void shouldLeaveOtherFaultsToTheJvm() throws IOException {
    try (Arena arena = Arena.ofShared();
        FileChannel file = file("f", SIZE)) {
      MemorySegment mapped = file.map(MapMode.READ_WRITE, 0, SIZE, arena);
      MemorySegment own = arena.allocate(SIZE);
      file.truncate(0);
      assertThat(MappedCopy.copy(mapped, own)).isFalse();
      assertThatThrownBy(
              () -> {
                MemorySegment.copy(mapped, 0, own, 0, SIZE);
                Thread.sleep(1); // by here at the latest
              })
          .isInstanceOf(InternalError.class);
      assertThat(MappedCopy.copy(mapped, own)).as("after the JVM's own").isFalse();
    }
  }

  @Test
  void shouldGuardEachThreadByItself() throws Exception {
    int threads = 4;
    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService copying = Executors.newFixedThreadPool(threads);
        Arena arena = Arena.ofShared();
        FileChannel file = file("f", SIZE)) {
      MemorySegment mapped = file.map(MapMode.READ_WRITE, 0, SIZE, arena);
      List<Future<long[]>> counts = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        counts.add(
            copying.submit(
                () -> {
                  long[] seen = new long[2];
                  MemorySegment own = arena.allocate(SIZE);
                  while (!over.get() || seen[0] == 0 || seen[1] == 0) {
                    seen[MappedCopy.copy(mapped, own) ? 1 : 0]++;
                  }
                  return seen;
                }));
      }
      // until every thread has seen both; the file ends at its full size
      for (int i = 0; i < 200 || counts.stream().anyMatch(count -> !count.isDone()); i++) {
        file.truncate(PAGE);
        Thread.sleep(1);
        file.write(java.nio.ByteBuffer.allocate(1), SIZE - 1);
        Thread.sleep(1);
        over.set(i >= 100);
        assertThat(i).as("turns").isLessThan(60_000);
      }
      for (Future<long[]> count : counts) {
        assertThat(count.get()).doesNotContain(0);
      }
    }
  }

  @Test
  void shouldRefuseWhatItCannotGuard() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment own = arena.allocate(8);
      MemorySegment heap = MemorySegment.ofArray(new byte[8]);
      assertThatThrownBy(() -> MappedCopy.copy(heap, own))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> MappedCopy.copy(own, heap))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> MappedCopy.copy(own, own.asReadOnly()))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> MappedCopy.copy(own, own.asSlice(1)))
          .hasMessage("8 bytes do not fill 7");
    }
  }

  private FileChannel file(String name, long size) throws IOException {
    FileChannel file =
        FileChannel.open(
            folder.resolve(name),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    file.write(java.nio.ByteBuffer.allocate(1), size - 1);
    return file;
  }
}
