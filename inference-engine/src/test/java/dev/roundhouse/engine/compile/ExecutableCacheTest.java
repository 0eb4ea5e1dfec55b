package dev.roundhouse.engine.compile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class ExecutableCacheTest {
  private static final long LARGE = 1 << 20;

  @TempDir private Path root;

  @Test
  void shouldGiveBackWhatWasKeptUnderAKeyInAnotherProcessToo() throws Exception {
    byte[] executable = bytes(1000, 1);
    open(LARGE).write(key(1), executable);
    assertThat(open(LARGE).read(key(1))).hasValue(executable);
    assertThat(open(LARGE).read(key(2))).isEmpty();
    assertThat(open(LARGE).bytes()).isEqualTo(1000 + CacheEntry.HEADER_BYTES);
    assertThat(names()).containsExactly(key(1).sha256() + ".program");
  }

  @Test
  void shouldBeReadableByItsOwnerOnly() throws Exception {
    open(LARGE).write(key(1), bytes(10, 1));
    assertThat(Files.getPosixFilePermissions(folder()))
        .containsExactlyInAnyOrder(
            PosixFilePermission.OWNER_READ,
            PosixFilePermission.OWNER_WRITE,
            PosixFilePermission.OWNER_EXECUTE);
    assertThat(Files.getPosixFilePermissions(file(1)))
        .containsExactlyInAnyOrder(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);
  }

  @Test
  void shouldTellKeysApartByTargetAndCode() {
    byte[] code = {1, 2};
    assertThat(ExecutableKey.of("t", code)).isEqualTo(ExecutableKey.of("t", code.clone()));
    assertThat(ExecutableKey.of("t", code)).isNotEqualTo(ExecutableKey.of("u", code));
    assertThat(ExecutableKey.of("t", code)).isNotEqualTo(ExecutableKey.of("t", new byte[] {1, 3}));
    assertThat(ExecutableKey.of("t\1", new byte[] {2})).isNotEqualTo(ExecutableKey.of("t", code));
  }

  @Test
  @Timeout(60)
  void shouldRefuseWhatIsNoFileOrTooLargeWithoutReadingIt() throws Exception {
    ExecutableCache cache = open(LARGE);
    assertThat(new ProcessBuilder("mkfifo", file(1).toString()).start().waitFor()).isZero();
    assertThatThrownBy(() -> cache.read(key(1)))
        .isInstanceOf(DamagedEntryException.class)
        .hasMessageContaining("it is no file");
    try (FileChannel sparse =
        FileChannel.open(file(2), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      sparse.write(ByteBuffer.wrap(new byte[1]), 40L << 30);
    }
    assertThatThrownBy(() -> cache.read(key(2)))
        .isInstanceOf(DamagedEntryException.class)
        .hasMessageContaining("has 42949672961 bytes");
  }

  @Test
  void shouldRefuseAnEntryWithAnyByteChanged() throws Exception {
    ExecutableCache cache = open(LARGE);
    cache.write(key(1), bytes(300, 1));
    byte[] good = Files.readAllBytes(file(1));
    for (int i = 0; i < good.length; i++) {
      byte[] bad = good.clone();
      bad[i] ^= (byte) (1 << i % 8);
      Files.write(file(1), bad);
      assertThatThrownBy(() -> cache.read(key(1)))
          .as("byte %d", i)
          .isInstanceOf(DamagedEntryException.class);
    }
  }

  /** As a crash of the machine, or a full disk without atomic renames, may leave one. */
  @Test
  void shouldRefuseAnEntryThatIsCutOffAtAnyByte() throws Exception {
    ExecutableCache cache = open(LARGE);
    cache.write(key(1), bytes(40, 1));
    byte[] good = Files.readAllBytes(file(1));
    for (int length = 0; length < good.length; length++) {
      Files.write(file(1), Arrays.copyOf(good, length));
      assertThatThrownBy(() -> cache.read(key(1)))
          .as("%d bytes", length)
          .isInstanceOf(DamagedEntryException.class);
    }
    Files.write(file(1), Arrays.copyOf(good, good.length + 1));
    assertThatThrownBy(() -> cache.read(key(1))).isInstanceOf(DamagedEntryException.class);
  }

  @Test
  void shouldRefuseAGoodEntryOfAnotherKey() throws Exception {
    ExecutableCache cache = open(LARGE);
    cache.write(key(1), bytes(40, 1));
    Files.move(file(1), file(2));
    assertThatThrownBy(() -> cache.read(key(2)))
        .isInstanceOf(DamagedEntryException.class)
        .hasMessageContaining("of another key");
  }

  @Test
  void shouldEvictWhatWasNotUsedForLongest() throws Exception {
    int size = 1000 - CacheEntry.HEADER_BYTES;
    ExecutableCache cache = open(10_000);
    for (int i = 0; i < 10; i++) {
      cache.write(key(i), bytes(size, i));
      age(i, 100 - i);
    }
    assertThat(cache.bytes()).isEqualTo(10_000);
    assertThat(cache.read(key(0))).isPresent(); // which makes it the latest used
    cache.write(key(10), bytes(size, 10));
    assertThat(present()).containsExactly(0, 3, 4, 5, 6, 7, 8, 9, 10);
    assertThat(cache.bytes()).isEqualTo(9_000);
  }

  @Test
  void shouldEvictAtTheStartWhenTheLimitIsLower() throws Exception {
    ExecutableCache cache = open(LARGE);
    for (int i = 0; i < 10; i++) {
      cache.write(key(i), bytes(1000, i));
      age(i, 100 - i);
    }
    open(3 * (1000 + CacheEntry.HEADER_BYTES));
    assertThat(present()).containsExactly(8, 9);
  }

  @Test
  void shouldNotKeepWhatIsLargerThanTheCache() throws Exception {
    ExecutableCache cache = open(500);
    cache.write(key(1), bytes(501, 1));
    assertThat(cache.read(key(1))).isEmpty();
    assertThat(names()).isEmpty();
  }

  @Test
  void shouldRemoveWhatAWriterLeftBehindButNotWhatOneIsWriting() throws Exception {
    open(LARGE);
    Path left = Files.writeString(folder().resolve("x.tmp"), "half");
    Path writing = Files.writeString(folder().resolve("y.tmp"), "half");
    Files.setLastModifiedTime(left, FileTime.from(Instant.now().minus(Duration.ofDays(1))));
    open(LARGE);
    assertThat(left).doesNotExist();
    assertThat(writing).exists();
  }

  /** Where the disk is full a write fails in the same way: the program is compiled, and served. */
  @Test
  void shouldGoOnWhenNothingCanBeWritten() throws Exception {
    ExecutableCache cache = open(LARGE);
    cache.write(key(1), bytes(10, 1));
    Path moved = folder().resolveSibling("away");
    Files.move(folder(), moved);
    Files.writeString(folder(), "a file where the folder was");
    cache.write(key(2), bytes(10, 2));
    assertThatThrownBy(() -> cache.read(key(1))).isInstanceOf(DamagedEntryException.class);
    Files.delete(folder());
    Files.move(moved, folder());
    cache.write(key(3), bytes(10, 3));
    assertThat(present()).containsExactly(1, 3);
  }

  @Test
  void shouldStayEmptyWhenThereCanBeNoFolder() throws Exception {
    Files.writeString(folder(), "a file");
    ExecutableCache cache = open(LARGE);
    cache.write(key(1), bytes(10, 1));
    assertThat(cache.bytes()).isZero();
    assertThat(folder()).hasContent("a file");
  }

  /** Several caches on one folder, as several workers have: what is read is always whole. */
  @Test
  void shouldBeSharedBySeveralThatWriteReadAndEvict() throws Exception {
    long seed = 20261122;
    List<Callable<Integer>> workers =
        IntStream.range(0, 4)
            .<Callable<Integer>>mapToObj(worker -> () -> use(open(20_000), seed + worker))
            .toList();
    try (ExecutorService threads = Executors.newFixedThreadPool(workers.size())) {
      int found = 0;
      for (Future<Integer> worker : threads.invokeAll(workers)) {
        found += worker.get();
      }
      assertThat(found).as("seed %d", seed).isPositive();
    }
    assertThat(open(20_000).bytes()).isBetween(1L, 20_000L);
    assertThat(names()).noneMatch(name -> name.endsWith(".tmp"));
  }

  private static int use(ExecutableCache cache, long seed) throws DamagedEntryException {
    Random random = new Random(seed);
    int found = 0;
    for (int i = 0; i < 500; i++) {
      int name = random.nextInt(40);
      var read = cache.read(key(name));
      if (read.isEmpty()) {
        cache.write(key(name), bytes(1000, name));
      } else {
        assertThat(read).hasValue(bytes(1000, name));
        found++;
      }
    }
    return found;
  }

  private ExecutableCache open(long maxBytes) {
    return ExecutableCache.open(folder(), maxBytes);
  }

  private Path folder() {
    return root.resolve("executables");
  }

  private Path file(int name) {
    return folder().resolve(key(name).sha256() + ".program");
  }

  private void age(int name, int minutes) throws IOException {
    Instant used = Instant.now().minus(Duration.ofMinutes(minutes));
    Files.setLastModifiedTime(file(name), FileTime.from(used));
  }

  private List<Integer> present() {
    return IntStream.range(0, 20).filter(name -> Files.exists(file(name))).boxed().toList();
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(folder())) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> !name.equals("evict.lock"))
          .toList();
    }
  }

  private static ExecutableKey key(int name) {
    return ExecutableKey.of("target", new byte[] {(byte) name});
  }

  private static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }
}
