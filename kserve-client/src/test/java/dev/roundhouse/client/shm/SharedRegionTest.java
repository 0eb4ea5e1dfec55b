package dev.roundhouse.client.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.client.pool.Span;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class SharedRegionTest {
  @TempDir Path folder;

  private Path only() throws IOException {
    try (var files = Files.list(folder)) {
      return files.findFirst().orElseThrow();
    }
  }

  @Test
  void shouldBeAnObjectOfTheUsersOwnUntilItIsClosed() throws Exception {
    SharedRegion region = SharedRegion.create(folder, "a.b");
    region.allocate((1 << 20) + 17);
    Path file = only();
    assertThat(region.key()).isEqualTo("/" + file.getFileName());
    assertThat(region.name())
        .matches("shm-a\\.b-" + ProcessHandle.current().pid() + "-[0-9a-f]{16}");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(Files.size(file)).isEqualTo((1 << 20) + 17);
    region.memory().set(ValueLayout.JAVA_BYTE, 1 << 20, (byte) 5);
    assertThat(Files.readAllBytes(file)[1 << 20]).isEqualTo((byte) 5);
    region.close();
    region.close();
    assertThat(file).doesNotExist();
    assertThatThrownBy(() -> region.memory().get(ValueLayout.JAVA_BYTE, 0))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void shouldGoWhenNobodyHoldsItAnyMore() throws Exception {
    SharedRegion.create(folder, "lost").allocate(64);
    Path file = only();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (Files.exists(file)) {
      assertThat(System.nanoTime()).as("not collected").isLessThan(end);
      System.gc();
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  @Test
  void shouldRefuseMoreThanThereIs() throws Exception {
    try (SharedRegion region = SharedRegion.create(folder, "large")) {
      assertThatThrownBy(() -> region.allocate(1L << 60))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes free and a region of 1152921504606846976 was wanted");
      assertThat(Files.size(only())).isZero();
    }
  }

  @Test
  void shouldCloseAPoolThatIsRetiredWhenTheLastSlotHasComeBack() throws Exception {
    SharedRegion region = SharedRegion.create(folder, "pool");
    region.allocate(4 * 4096);
    RegionPool pool = new RegionPool(region, 4);
    Span one = Objects.requireNonNull(pool.lend(4096, Duration.ZERO));
    Span two = Objects.requireNonNull(pool.lend(2 * 4096, Duration.ZERO));
    assertThat(pool.lend(2 * 4096, Duration.ZERO)).as("one is left").isNull();
    pool.retire();
    assertThat(folder).isEmptyDirectory();
    assertThat(pool.lend(1, Duration.ZERO)).isNull();
    pool.giveBack(one);
    assertThat(two.carve(8, 8).get(ValueLayout.JAVA_LONG, 0)).as("still mapped").isZero();
    pool.giveBack(two);
    assertThatThrownBy(() -> region.memory().get(ValueLayout.JAVA_BYTE, 0))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void shouldBeWornOutWhenHalfOfItIsLost() throws Exception {
    SharedRegion region = SharedRegion.create(folder, "pool");
    region.allocate(4 * 4096);
    RegionPool pool = new RegionPool(region, 4);
    assertThat(pool.lose(Objects.requireNonNull(pool.lend(4096, Duration.ZERO)))).isFalse();
    assertThat(pool.lend(4 * 4096, Duration.ZERO)).as("one is never lent again").isNull();
    assertThat(pool.lose(Objects.requireNonNull(pool.lend(4096, Duration.ZERO)))).isTrue();
    pool.retire();
  }
}
