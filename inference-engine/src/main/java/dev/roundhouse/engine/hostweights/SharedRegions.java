package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Regions of memory with one model's weights each, for all processes of one user on the machine.
 * Thread-safe; blocks on the disk and on other processes.
 *
 * <p>A region is a file whose lock says who uses it: alone while it is filled, together with others
 * from then on. A process that gets the exclusive lock trusts a complete region and removes an
 * incomplete one. The last user removes it. See docs/decisions/0009-host-floors.md.
 */
final class SharedRegions {
  private static final Logger log = LoggerFactory.getLogger(SharedRegions.class);

  private static final String PREFIX = "roundhouse-";
  static final int OTHERS_WRITE = 0022;
  private static final int DIGEST_IN_NAME = 12;
  private static final int MOST_NAME = 100;
  private static final long PAUSE_MILLIS = 5;

  /** What every disk reads in a second. */
  private static final long SLOW_BYTES_PER_MILLI = 50_000;

  /** Steps after which a maker of a region can be killed. */
  enum Step {
    OPENED,
    LOCKED,
    ALLOCATED,
    FILLED,
    DESCRIBED,
    READY,
    SHARED
  }

  /** What happens between two steps: nothing, but in tests. */
  interface Watcher {
    void at(Step step);
  }

  private final Sharing sharing;
  private final HostBytes account;
  private final Pins pins;
  private final Duration patience;
  private final Watcher watcher;

  /**
   * @param patience how long to wait for another process that fills a region, beyond the expected
   *     reading time
   */
  SharedRegions(Sharing sharing, HostBytes account, Pins pins, Duration patience, Watcher watcher) {
    this.sharing = sharing;
    this.account = account;
    this.pins = pins;
    this.patience = patience;
    this.watcher = watcher;
  }

  /**
   * A region is wanted.
   *
   * @param pin whether the device may take its time to page-lock it
   */
  record Wanted(String model, byte[] digest, HostWeightsLayout layout, boolean pin) {
    long bytes() {
      return RegionHeader.regionBytes(layout.blockBytes());
    }
  }

  /**
   * Finds a region or makes it.
   *
   * @param source asked for, and read, only when the region must be made
   * @return empty when there can be none, which is logged with the reason
   * @throws RuntimeException what {@code source} throws; nothing is left then
   */
  Optional<HostWeightsMemory> open(Wanted wanted, Supplier<? extends WeightSource> source) {
    Path path = sharing.directory().resolve(name(wanted));
    long giveUp =
        System.nanoTime()
            + patience.toNanos()
            + TimeUnit.MILLISECONDS.toNanos(wanted.bytes() / SLOW_BYTES_PER_MILLI);
    try {
      while (true) {
        Attempt attempt = attempt(path, wanted, source);
        switch (attempt) {
          case Attempt.Got got -> {
            return Optional.of(got.region());
          }
          case Attempt.Refused refused -> {
            return privately(wanted, refused.reason());
          }
          case Attempt.Busy _ -> {
            if (System.nanoTime() - giveUp > 0) {
              return privately(wanted, path + " is being filled by a process that takes too long");
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
          }
        }
      }
    } catch (IOException e) {
      return privately(wanted, path + ": " + e.getMessage());
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return privately(wanted, "the wait for another process was interrupted");
    }
  }

  private sealed interface Attempt {
    record Got(SharedRegion region) implements Attempt {}

    /** Another process fills it, or it was just removed. */
    record Busy() implements Attempt {}

    record Refused(String reason) implements Attempt {}
  }

  private Attempt attempt(Path path, Wanted wanted, Supplier<? extends WeightSource> source)
      throws IOException {
    RegionFile file = RegionFile.open(path);
    boolean joined = false;
    boolean kept = false;
    try {
      watcher.at(Step.OPENED);
      String refusal = file.refusal();
      if (!refusal.isEmpty()) {
        return new Attempt.Refused(refusal);
      }
      boolean alone = file.tryLockAlone();
      if (!alone && !file.tryLockShared() || !file.isLinked()) {
        return new Attempt.Busy();
      }
      if (!RegionHeader.isReady(file.fd(), wanted.bytes(), wanted.digest())) {
        if (!alone || Libc.size(file.fd()) > 0) {
          file.unlink(); // its maker died, or somebody cut it short
          return new Attempt.Busy();
        }
        watcher.at(Step.LOCKED);
        fill(file, wanted, source);
      }
      // Between the two locks another process may hold it for a moment.
      if (alone && !file.tryLockShared()) {
        return new Attempt.Busy();
      }
      joined = true;
      watcher.at(Step.SHARED);
      SharedRegion region = map(file, wanted);
      kept = true;
      return new Attempt.Got(region);
    } finally {
      if (joined && !kept) {
        file.leave();
      } else if (!kept) {
        file.close();
      }
    }
  }

  /** Fills a region that nobody else uses; what goes wrong leaves none. */
  private void fill(RegionFile file, Wanted wanted, Supplier<? extends WeightSource> source)
      throws IOException {
    boolean filled = false;
    try (Arena arena = Arena.ofShared()) {
      Libc.setMode(file.fd(), sharing.mode());
      try {
        Libc.allocate(file.fd(), wanted.bytes());
      } catch (Libc.NoSpaceException e) {
        throw new IOException(
            "%d bytes do not fit in %s (%s); make it larger"
                .formatted(wanted.bytes(), sharing.directory(), e.getMessage()));
      }
      watcher.at(Step.ALLOCATED);
      MemorySegment region = Libc.map(file.fd(), wanted.bytes(), true, arena);
      HostWeightsLayout layout = wanted.layout();
      WeightSource weights = source.get();
      for (int i = 0; i < layout.count(); i++) {
        weights.copyTo(i, tensor(region, layout, i));
      }
      weights.verify(i -> tensor(region, layout, i));
      watcher.at(Step.FILLED);
      RegionHeader.write(region, wanted.digest());
      Libc.setMode(file.fd(), sharing.mode() & ~OTHERS_WRITE);
      watcher.at(Step.DESCRIBED);
      RegionHeader.setReady(region);
      watcher.at(Step.READY);
      filled = true;
    } finally {
      if (!filled) {
        file.unlink();
      }
    }
  }

  private static MemorySegment tensor(MemorySegment region, HostWeightsLayout layout, int i) {
    return region.asSlice(RegionHeader.BYTES + layout.offset(i), layout.size(i));
  }

  private SharedRegion map(RegionFile file, Wanted wanted) throws IOException {
    boolean pinned = wanted.pin() && pins.areUseful();
    Arena arena = Arena.ofShared();
    boolean mapped = false;
    try {
      // A device that page-locks memory insists on being allowed to write to it.
      MemorySegment region = Libc.map(file.fd(), wanted.bytes(), pinned, arena);
      PinnedMemory pin = pinned ? pins.pin(region) : null;
      mapped = true;
      return new SharedRegion(wanted.layout(), file, arena, region, account, pin);
    } finally {
      if (!mapped) {
        arena.close();
      }
    }
  }

  /** Removes regions that no process uses: what killed processes left. */
  void sweep() {
    try (DirectoryStream<Path> regions =
        Files.newDirectoryStream(sharing.directory(), PREFIX + "*")) {
      for (Path path : regions) {
        if (Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS) && isMine(path)) {
          RegionFile.open(path).leave();
        }
      }
    } catch (IOException e) {
      log.warn(
          "{} cannot be swept of unused host weights: {}", sharing.directory(), e.getMessage());
    }
  }

  private static boolean isMine(Path path) throws IOException {
    return (Integer) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS) == Libc.user();
  }

  private static Optional<HostWeightsMemory> privately(Wanted wanted, String reason) {
    log.warn("weights of model '{}' are not shared: {}", wanted.model(), reason);
    return Optional.empty();
  }

  private static String name(Wanted wanted) {
    String model = wanted.model().replaceAll("[^A-Za-z0-9._-]", "_");
    return PREFIX
        + model.substring(0, Math.min(MOST_NAME, model.length()))
        + "-"
        + HexFormat.of().formatHex(wanted.digest(), 0, DIGEST_IN_NAME);
  }
}
