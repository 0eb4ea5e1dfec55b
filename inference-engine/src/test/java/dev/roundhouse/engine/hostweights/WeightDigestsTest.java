package dev.roundhouse.engine.hostweights;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.weights.AxisOrder;
import dev.roundhouse.bundle.weights.FileIdentity;
import dev.roundhouse.bundle.weights.WeightsFile;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.time.ManualClock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Weights of format 2.0, whose bundle has no digest of them. */
class WeightDigestsTest {
  private static final int SIZE = 100_000;

  @TempDir Path folder;
  private Path digests = Path.of("/none");
  private Path memory = Path.of("/none");
  private final FakeWeights weights =
      new FakeWeights("", FakeWeights.bytes(1, SIZE), FakeWeights.bytes(2, 10));

  @BeforeEach
  void makeFolders() throws IOException {
    digests = folder.resolve("new/digests");
    memory = Files.createTempDirectory(Sharing.SHARED_MEMORY, "host-weights-test-");
    weights.identity = Optional.of(identity(1, Instant.EPOCH));
  }

  @AfterEach
  void shouldLeaveNoRegions() throws IOException {
    assertThat(files(memory)).isEmpty();
    Files.delete(memory);
    assertThat(weights.open).hasValue(0);
  }

  private static FileIdentity identity(long inode, Instant changed) {
    return new FileIdentity(1, inode, SIZE, FileTime.from(Instant.EPOCH), FileTime.from(changed));
  }

  private HostWeightStore store() {
    return store(Optional.of(digests), Duration.ZERO);
  }

  private HostWeightStore store(Optional<Path> kept, Duration settled) {
    return new HostWeightStore(
        new HostWeightsOptions(
            HostWeightsKind.KEPT,
            Long.MAX_VALUE,
            true,
            Optional.of(new Sharing(memory, Sharing.DEFAULT_MODE, kept))),
        new SimulatedDevice(
            SimulatedDeviceOptions.instant((program, in, out) -> {}), new ManualClock(0)),
        Duration.ofMinutes(1),
        settled,
        step -> {});
  }

  private static List<Path> files(Path in) throws IOException {
    if (!Files.isDirectory(in)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(in)) {
      return files.toList();
    }
  }

  /** Loads the weights, and says how often they were read for it. */
  private int readsOfALoad(HostWeightStore store) {
    int before = weights.reads.get();
    try (HostWeights hostWeights = weights.openIn(store, "m");
        Lease lease = hostWeights.lease()) {
      assertThat(hostWeights.report().shared()).isTrue();
      weights.assertHeldBy(lease);
    }
    return weights.reads.get() - before;
  }

  @Test
  void shouldShareOneRegionOfABundleWithoutADigest() throws IOException {
    Path file = folder.resolve("weights.safetensors");
    write(file, 7);
    try (HostWeightStore one = store();
        HostWeightStore other = store();
        HostWeights first = open(one, file);
        HostWeights second = open(other, file)) {
      assertThat(first.report().shared()).isTrue();
      assertThat(second.report().shared()).isTrue();
      assertThat(files(memory)).hasSize(1);
      assertThat(other.totals().reads()).isZero();
      try (Lease lease = second.lease()) {
        // Axes are reversed: the file has rows of 3, the device columns.
        assertThat(lease.tensor(0).toArray(JAVA_BYTE)).containsExactly(7, 10, 8, 11, 9, 12);
      }
    }
    assertThat(files(digests)).hasSize(1);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(digests)))
        .isEqualTo("rwx------");
  }

  @Test
  void shouldTellAChangedFileOfTheSameSizeAndTime() throws IOException {
    Path file = folder.resolve("weights.safetensors");
    write(file, 7);
    FileTime modified = Files.getLastModifiedTime(file);
    FileIdentity before = FileIdentity.of(file);
    try (HostWeightStore store = store();
        HostWeights old = open(store, file)) {
      do {
        write(file, 20);
        Files.setLastModifiedTime(file, modified);
      } while (FileIdentity.of(file).equals(before)); // within one tick of the clock
      assertThat(Files.getLastModifiedTime(file)).isEqualTo(modified);

      try (HostWeights changed = open(store, file);
          Lease lease = changed.lease()) {
        assertThat(old.report().shared() && changed.report().shared()).isTrue();
        assertThat(files(memory)).hasSize(2);
        assertThat(files(digests)).hasSize(2);
        assertThat(lease.tensor(0).get(JAVA_BYTE, 0)).isEqualTo((byte) 20);
      }
    }
  }

  @Test
  void shouldComputeADigestOnce() throws IOException {
    try (HostWeightStore store = store()) {
      assertThat(readsOfALoad(store)).as("digest, then region").isEqualTo(2);
    }
    try (HostWeightStore next = store()) {
      assertThat(readsOfALoad(next)).isEqualTo(1);
      weights.identity = Optional.of(identity(2, Instant.EPOCH));
      assertThat(readsOfALoad(next)).isEqualTo(2);
    }
    assertThat(files(digests)).hasSize(2);
  }

  @Test
  void shouldKnowTheDigestWhenWeightsAreReadAgain() throws IOException {
    try (HostWeightStore store = store(Optional.empty(), Duration.ZERO);
        HostWeights hostWeights = weights.openIn(store, "m")) {
      assertThat(weights.reads).hasValue(2);
      assertThat(hostWeights.evict()).isTrue();
      try (Lease lease = hostWeights.lease()) {
        assertThat(hostWeights.report().shared()).isTrue();
        weights.assertHeldBy(lease);
      }
      assertThat(weights.reads).hasValue(3);
    }
    assertThat(files(digests)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "roundhouse weights 1\n", "cut", "flipped", "longer"})
  void shouldWriteADamagedFileAgain(String damage) throws IOException {
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
      Path kept = files(digests).getFirst();
      String text = Files.readString(kept);
      char digit = text.charAt(text.length() - 80);
      Files.writeString(
          kept,
          switch (damage) {
            case "cut" -> text.substring(0, text.length() - 70);
            case "flipped" ->
                text.substring(0, text.length() - 80)
                    + (digit == '0' ? '1' : '0')
                    + text.substring(text.length() - 79);
            case "longer" -> text + " ".repeat(5000);
            default -> damage;
          });
      assertThat(readsOfALoad(store)).isEqualTo(2);
      assertThat(Files.readString(kept)).isEqualTo(text);
      assertThat(readsOfALoad(store)).isEqualTo(1);
    }
  }

  @Test
  void shouldBelieveNoFileWithABitFlippedOrCutOff() throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
      Path kept = files(digests).getFirst();
      byte[] whole = Files.readAllBytes(kept);
      for (int at = 0; at < whole.length; at++) {
        byte[] flipped = whole.clone();
        flipped[at] ^= (byte) (1 << random.nextInt(8));
        for (byte[] damaged : List.of(flipped, Arrays.copyOf(whole, at))) {
          Files.write(kept, damaged);
          assertThat(readsOfALoad(store)).as("byte %d, seed %d", at, seed).isEqualTo(2);
          assertThat(kept).hasBinaryContent(whole);
        }
      }
    }
  }

  @Test
  void shouldNotTrustAFileThatOthersMayWrite() throws IOException {
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
      Path kept = files(digests).getFirst();
      Files.setPosixFilePermissions(kept, PosixFilePermissions.fromString("rw-rw----"));
      assertThat(readsOfALoad(store)).isEqualTo(2);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(kept)))
          .isEqualTo("rw-------");
      assertThat(readsOfALoad(store)).isEqualTo(1);
    }
  }

  @Test
  void shouldFollowNoLink() throws IOException {
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
      Path kept = files(digests).getFirst();
      Path elsewhere = Files.move(kept, folder.resolve("elsewhere"));
      Files.createSymbolicLink(kept, elsewhere);
      assertThat(readsOfALoad(store)).isEqualTo(2);
      assertThat(Files.isSymbolicLink(kept)).isFalse();
    }
  }

  @Test
  void shouldNotKeepTheDigestOfAFileThatHasJustChanged() throws IOException {
    weights.identity = Optional.of(identity(1, Instant.now()));
    try (HostWeightStore store = store(Optional.of(digests), Duration.ofHours(1))) {
      assertThat(readsOfALoad(store)).isEqualTo(2);
    }
    assertThat(files(digests)).isEmpty();
  }

  @Test
  void shouldNotKeepTheDigestOfAFileThatChangesMeanwhile() throws IOException {
    weights.onRead = () -> weights.identity = Optional.of(identity(2, Instant.EPOCH));
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
    }
    assertThat(files(digests)).isEmpty();
  }

  @Test
  void shouldRefuseWeightsThatAreNotThoseOfTheirDigest() throws IOException {
    AtomicBoolean changed = new AtomicBoolean();
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
      weights.onRead =
          () -> {
            if (changed.compareAndSet(false, true)) {
              weights.tensor(0)[5]++;
            }
          };
      assertThatThrownBy(() -> weights.openIn(store, "m"))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("load it again");
      assertThat(files(digests)).isEmpty();
      assertThat(files(memory)).isEmpty();
      assertThat(readsOfALoad(store)).isEqualTo(2);
    }
  }

  @Test
  void shouldShareOneRegionWhenTwoWorkersComputeAtOnce() throws Exception {
    CyclicBarrier both = new CyclicBarrier(2);
    ThreadLocal<Boolean> met = ThreadLocal.withInitial(() -> false);
    weights.onRead =
        () -> {
          if (!met.get()) {
            met.set(true);
            await(both);
          }
        };
    try (HostWeightStore one = store();
        HostWeightStore other = store()) {
      CompletableFuture<HostWeights> elsewhere =
          CompletableFuture.supplyAsync(
              () -> weights.openIn(other, "m"), task -> Thread.ofPlatform().start(task));
      try (HostWeights first = weights.openIn(one, "m");
          HostWeights second = elsewhere.get(1, TimeUnit.MINUTES);
          Lease ofFirst = first.lease();
          Lease ofSecond = second.lease()) {
        assertThat(first.report().shared() && second.report().shared()).isTrue();
        assertThat(files(memory)).hasSize(1);
        assertThat(weights.reads).as("two digests, one region").hasValue(3);
        weights.assertHeldBy(ofFirst);
        weights.assertHeldBy(ofSecond);
      }
    }
    assertThat(files(digests)).hasSize(1);
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await(1, TimeUnit.MINUTES);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void shouldKeepABoundedNumberOfFiles() throws IOException {
    Files.createDirectories(digests);
    for (int i = 0; i < WeightDigests.MOST_FILES + 5; i++) {
      Path old = Files.writeString(digests.resolve("old-" + i + ".sha256"), "");
      Files.setLastModifiedTime(old, FileTime.from(Instant.EPOCH.plusSeconds(i)));
    }
    Path abandoned = Files.writeString(digests.resolve("abandoned.tmp"), "");
    Files.setLastModifiedTime(abandoned, FileTime.from(Instant.EPOCH));
    try (HostWeightStore store = store()) {
      readsOfALoad(store);
      assertThat(files(digests))
          .hasSize(WeightDigests.MOST_FILES)
          .doesNotContain(digests.resolve("old-5.sha256"), abandoned)
          .contains(digests.resolve("old-6.sha256"));
      assertThat(readsOfALoad(store)).isEqualTo(1);
    }
  }

  @Test
  void shouldShareWithoutAFolderThatCanBeWritten() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "");
    try (HostWeightStore store = store(Optional.of(file.resolve("digests")), Duration.ZERO)) {
      assertThat(readsOfALoad(store)).isEqualTo(2);
    }
  }

  private static HostWeights open(HostWeightStore store, Path file) {
    try (WeightsFile open = WeightsFile.open(file, AxisOrder.REVERSED, Optional.empty())) {
      return store.open("m", open);
    }
  }

  /** Two rows of three bytes, from {@code first} on. */
  private static void write(Path file, int first) throws IOException {
    byte[] header =
        "{\"w\":{\"dtype\":\"U8\",\"shape\":[2,3],\"data_offsets\":[0,6]},\"__metadata__\":{\"argument_order\":\"[\\\"w\\\"]\"}}"
            .getBytes(StandardCharsets.UTF_8);
    ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES + header.length + 6);
    bytes.order(ByteOrder.LITTLE_ENDIAN).putLong(header.length).put(header);
    for (int i = 0; i < 6; i++) {
      bytes.put((byte) (first + i));
    }
    Files.write(file, bytes.array());
  }
}
