package dev.roundhouse.worker.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.pjrt.MappedCopy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClientRegionsTest {
  private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private final Arena memory = Arena.ofShared();
  private final ClientRegions regions = open(List.of(), 2);
  private SharedObject object;

  @BeforeEach
  void makeObject() throws IOException {
    object = new SharedObject(64);
  }

  @AfterEach
  void close() throws IOException {
    regions.close();
    object.close();
    memory.close();
    assertThat(openObjects()).as("files of regions that are still open").isZero();
  }

  @Test
  void shouldReadAndWriteWhereTheRegionIs() throws IOException {
    regions.register("r", object.key(), 16, 32);
    object.put(24, 1.5f, -2f);
    try (Lease lease = regions.lease(new RegionRange("r", 8, 8))) {
      MemorySegment target = MemorySegment.ofArray(new byte[12]);
      lease.data().copyTo(0, target, 4, 8);
      assertThat(target.get(FLOAT, 4)).isEqualTo(1.5f);
      assertThat(target.get(FLOAT, 8)).isEqualTo(-2f);
      assertThat(lease.data().byteSize()).isEqualTo(8);
      assertThat(lease.data().heldBytes()).as("the client's memory").isZero();

      MemorySegment answer = memory.allocate(8);
      answer.set(FLOAT, 0, 7f);
      answer.set(FLOAT, 4, 8f);
      lease.write(answer);
    }
    assertThat(object.get(24, 2)).containsExactly(7f, 8f);
    assertThat(object.get(16, 1)).containsExactly(0f);
    assertThat(object.get(32, 1)).containsExactly(0f);
  }

  @Test
  void shouldKeepARegionForThoseWhoUseItWhenItIsUnregistered() throws IOException {
    regions.register("r", object.key(), 0, 64);
    object.put(0, 3f);
    try (Lease lease = regions.lease(new RegionRange("r", 0, 4))) {
      regions.unregister("r");
      assertRefused(
          () -> regions.lease(new RegionRange("r", 0, 4)),
          WireStatus.NOT_FOUND,
          "Unable to find shared memory region: 'r'");
      try (SharedObject other = new SharedObject(8)) {
        regions.register("r", other.key(), 0, 8);
        MemorySegment target = MemorySegment.ofArray(new byte[4]);
        lease.data().copyTo(0, target, 0, 4);
        assertThat(target.get(FLOAT, 0)).as("of the first of that name").isEqualTo(3f);
      }
      lease.close(); // and once more by itself
    }
  }

  @Test
  void shouldSurviveAnObjectThatHasBecomeSmaller() throws IOException {
    regions.register("r", object.key(), 0, 64);
    try (Lease lease = regions.lease(new RegionRange("r", 32, 32))) {
      object.truncate(40);
      TensorData data = lease.data();
      MemorySegment target = memory.allocate(32);
      assertThatThrownBy(() -> data.copyTo(0, target, 0, 32))
          .isInstanceOf(UncheckedIOException.class)
          .hasMessageContaining("'r' has become smaller");
      assertRefused(
          () -> lease.write(target), WireStatus.INVALID_ARGUMENT, "which has 40 bytes by now");
      assertRefused(
          () -> regions.lease(new RegionRange("r", 32, 32)),
          WireStatus.INVALID_ARGUMENT,
          "shared memory region 'r' ends at byte 64");
    }
  }

  @Test
  void shouldSurviveAnObjectWhosePagesAreGone() throws IOException {
    int size = 1 << 20;
    try (SharedObject large = new SharedObject(size)) {
      regions.register("r", large.key(), 0, size);
      try (Lease lease = regions.lease(new RegionRange("r", 0, size))) {
        large.truncate(4096);
        MemorySegment own = memory.allocate(size);
        for (MemorySegment target : List.of(own, MemorySegment.ofArray(new byte[size]))) {
          assertThatThrownBy(() -> lease.data().copyTo(0, target, 0, size))
              .isInstanceOf(UncheckedIOException.class)
              .hasMessageContaining("'r' has become smaller");
        }
        assertRefused(
            () -> lease.write(own), WireStatus.INVALID_ARGUMENT, "which has 4096 bytes by now");
        lease.data().copyTo(0, own, 0, 4096);
      }
    }
  }

  @Test
  void shouldTellWhatIsRegistered() {
    regions.register("b", object.key(), 8, 16);
    regions.register("a", object.key(), 0, 8);
    assertThat(regions.status(""))
        .containsExactly(
            new ClientRegions.Registered("a", object.key(), 0, 8),
            new ClientRegions.Registered("b", object.key(), 8, 16));
    assertThat(regions.status("b")).hasSize(1);
    assertRefused(
        () -> regions.status("c"),
        WireStatus.NOT_FOUND,
        "Unable to find system shared memory region: 'c'");
    assertThat(regions.heldSystem()).isEqualTo(new ClientRegions.Held(2, 24));
    assertThat(regions.heldCuda()).isEqualTo(new ClientRegions.Held(0, 0));
    regions.unregister("c");
    regions.unregister("");
    assertThat(regions.heldSystem()).isEqualTo(new ClientRegions.Held(0, 0));
    assertThat(regions.status("")).isEmpty();
  }

  @Test
  void shouldRefuseRangesThatAreNotInTheRegion() {
    regions.register("r", object.key(), 0, 32);
    regions.lease(new RegionRange("r", 31, 1)).close();
    regions.lease(new RegionRange("r", 0, 0)).close();
    assertRefused(
        () -> regions.lease(new RegionRange("r", 32, 0)),
        WireStatus.INVALID_ARGUMENT,
        "Invalid offset for shared memory region: 'r'");
    for (long size : new long[] {31, Long.MAX_VALUE}) {
      assertRefused(
          () -> regions.lease(new RegionRange("r", 2, size)),
          WireStatus.INVALID_ARGUMENT,
          "Invalid offset + byte size for shared memory region: 'r'");
    }
  }

  @Test
  void shouldRefuseRegionsThatAreNotThere() throws IOException {
    assertRefused(
        () -> regions.register("r", "/no-such-object", 0, 8),
        WireStatus.INTERNAL,
        "Unable to open shared memory region: '/no-such-object'");
    for (long[] range : new long[][] {{0, 65}, {64, 1}, {1, 64}}) {
      assertRefused(
          () -> regions.register("r", object.key(), range[0], range[1]),
          WireStatus.INVALID_ARGUMENT,
          "failed to register shared memory region 'r': invalid args");
    }
    for (long[] range : new long[][] {{0, 0}, {0, -1}, {-1, 8}, {Long.MAX_VALUE, 2}}) {
      assertRefused(
          () -> regions.register("r", object.key(), range[0], range[1]),
          WireStatus.INVALID_ARGUMENT,
          "failed to register shared memory region 'r'");
    }
    try (SharedObject sparse = new SharedObject(8)) {
      long most = 1L << 40;
      sparse.grow(2 * most);
      assertRefused(
          () -> regions.register("r", sparse.key(), 0, most + 1),
          WireStatus.INVALID_ARGUMENT,
          "a region may have 1099511627776 (1 TiB)");
      regions.register("r", sparse.key(), most, most);
      regions.unregister("r");
    }
    assertRefused(
        () -> regions.register("", object.key(), 0, 8),
        WireStatus.INVALID_ARGUMENT,
        "name cannot be empty");
    Path link = Path.of("/dev/shm", "test-link-" + ProcessHandle.current().pid());
    Files.createSymbolicLink(link, Path.of("/etc/hostname"));
    try {
      assertRefused(
          () -> regions.register("r", link.getFileName().toString(), 0, 1),
          WireStatus.INTERNAL,
          "Unable to open shared memory region");
    } finally {
      Files.delete(link);
    }
    assertThat(regions.status("")).isEmpty();
  }

  @Test
  void shouldRefuseANameTwiceAndMoreThanTheLimit() {
    regions.register("a", object.key(), 0, 8);
    assertRefused(
        () -> regions.register("a", object.key(), 8, 8),
        WireStatus.ALREADY_EXISTS,
        "shared memory region 'a' already in manager");
    regions.register("b", object.key().substring(1), 8, 8);
    assertRefused(
        () -> regions.register("c", "//" + object.key(), 0, 8),
        WireStatus.RESOURCE_EXHAUSTED,
        "2 shared memory regions are registered and that is the limit");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/",
        "//",
        "/..",
        ".",
        "../etc/hostname",
        "/a/b",
        "roundhouse-weights",
        "/roundhouse-1",
        "triton_python_backend_shm_region_1"
      })
  void shouldRefuseKeysThatAreNotForClients(String key) {
    assertRefused(() -> regions.register("r", key, 0, 8), WireStatus.INVALID_ARGUMENT, "key");
  }

  @Test
  void shouldConfineKeysToPrefixes() {
    try (ClientRegions some = open(List.of("client-", "test-"), 1)) {
      some.register("r", object.key(), 0, 8);
    }
    try (ClientRegions others = open(List.of("client-"), 1)) {
      assertRefused(
          () -> others.register("r", object.key(), 0, 8),
          WireStatus.INVALID_ARGUMENT,
          "keys begin with client- here");
    }
  }

  @Test
  void shouldAnswerStatusAndUnregisterWhenItIsOff() {
    try (ClientRegions off =
        new ClientRegions(
            new ClientRegions.Settings(false, List.of(), 1), MappedCopy::copy, CudaAccess.NO_GPU)) {
      assertRefused(
          () -> off.register("r", object.key(), 0, 8),
          WireStatus.UNIMPLEMENTED,
          "Client shared memory is disabled");
      assertRefused(
          () -> off.lease(new RegionRange("r", 0, 8)),
          WireStatus.UNIMPLEMENTED,
          "Client shared memory is disabled");
      assertThat(off.status("")).isEmpty();
      off.unregister("");
    }
  }

  private static ClientRegions open(List<String> prefixes, int most) {
    return new ClientRegions(
        new ClientRegions.Settings(true, prefixes, most), MappedCopy::copy, CudaAccess.NO_GPU);
  }

  private static void assertRefused(ThrowingCallable call, WireStatus status, String text) {
    WireException refusal = catchThrowableOfType(WireException.class, call);
    assertThat(refusal).hasMessageContaining(text);
    assertThat(refusal.status()).isEqualTo(status);
  }

  /** How many objects of tests this process has open. */
  private static long openObjects() throws IOException {
    try (var files = Files.list(Path.of("/proc/self/fd"))) {
      return files
          .filter(
              file -> {
                try {
                  return Files.readSymbolicLink(file).toString().startsWith("/dev/shm/test-");
                } catch (IOException e) {
                  return false; // closed meanwhile
                }
              })
          .count();
    }
  }
}
