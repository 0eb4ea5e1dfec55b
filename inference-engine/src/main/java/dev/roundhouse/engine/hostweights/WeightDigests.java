package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.weights.FileIdentity;
import dev.roundhouse.bundle.weights.OpenWeights;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Digests of weights whose bundle has none (format 2.0), so that they can be shared by content too.
 * A digest is computed once and kept in a small file, by the identity of the weights file, for
 * other processes and for the next start. Several processes may share the folder: files appear by
 * rename. Thread-safe; blocks on the disk.
 */
final class WeightDigests {
  /**
   * How long ago a file must have changed for its digest to be kept: a change within one tick of
   * the file system's clock would leave the identity as it was.
   */
  static final Duration SETTLED = Duration.ofSeconds(2);

  static final int MOST_FILES = 1024;

  private static final Logger log = LoggerFactory.getLogger(WeightDigests.class);

  private static final String SUFFIX = ".sha256";
  private static final String TEMPORARY = ".tmp";
  private static final Duration LEFT_BEHIND = Duration.ofHours(1);
  private static final String FORMAT = "roundhouse weights 1";
  private static final int MOST_BYTES = 4096;
  private static final int CHUNK = 1 << 20;

  private final Optional<Path> folder;
  private final Duration settled;
  private final AtomicBoolean warned = new AtomicBoolean();

  /**
   * @param folder of the files, made when the first is written; empty: digests are computed at each
   *     start
   * @param settled as {@link #SETTLED}
   */
  WeightDigests(Optional<Path> folder, Duration settled) {
    this.folder = folder;
    this.settled = settled;
  }

  /**
   * The digest of weights as {@link #of(HostWeightsLayout, IntFunction)} computes it. Reads all of
   * them, a tensor at a time, when it is not known.
   *
   * @return empty when nothing identifies their file
   * @throws dev.roundhouse.bundle.error.BundleException when they cannot be read
   */
  Optional<String> of(String model, WeightsOrigin origin) {
    Instant now = Instant.now();
    FileIdentity before = origin.identity().orElse(null);
    if (before == null) {
      return Optional.empty();
    }
    Optional<String> kept = folder.flatMap(in -> read(file(in, before), before));
    if (kept.isPresent()) {
      return kept;
    }
    long startNanos = System.nanoTime();
    String digest;
    try (OpenWeights weights = origin.open()) {
      digest = compute(weights);
    }
    log.info(
        "weights of model '{}' have no digest in their bundle; it took {} ms to compute one",
        model,
        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos));
    boolean isSettled = before.changed().toInstant().plus(settled).compareTo(now) <= 0;
    if (folder.isPresent() && isSettled && origin.identity().equals(Optional.of(before))) {
      write(folder.get(), before, digest);
    }
    return Optional.of(digest);
  }

  /** Forgets the digest of a file whose content turned out to be another. */
  void forget(WeightsOrigin origin) {
    if (folder.isPresent()) {
      try {
        FileIdentity identity = origin.identity().orElse(null);
        if (identity != null) {
          Files.deleteIfExists(file(folder.get(), identity));
        }
      } catch (IOException e) {
        warn(folder.get(), e);
      }
    }
  }

  private static String compute(WeightSource weights) {
    HostWeightsLayout layout = new HostWeightsLayout(weights);
    long largest = 1;
    for (int i = 0; i < layout.count(); i++) {
      largest = Math.max(largest, layout.size(i));
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment scratch = arena.allocate(largest);
      return of(
          layout,
          i -> {
            MemorySegment tensor = scratch.asSlice(0, layout.size(i));
            weights.copyTo(i, tensor);
            return tensor;
          });
    }
  }

  /**
   * The sha256 of tensors as the device takes them, one after the other, in hexadecimal.
   *
   * @param tensors asked for once each, in order
   */
  static String of(HostWeightsLayout layout, IntFunction<MemorySegment> tensors) {
    MessageDigest digest = sha256();
    for (int i = 0; i < layout.count(); i++) {
      MemorySegment tensor = tensors.apply(i);
      // A ByteBuffer holds 2 GiB at most.
      for (long at = 0; at < tensor.byteSize(); at += CHUNK) {
        digest.update(tensor.asSlice(at, Math.min(CHUNK, tensor.byteSize() - at)).asByteBuffer());
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  /** Trusted as regions are: only of this user, and when nobody else may write to it. */
  private static Optional<String> read(Path path, FileIdentity identity) {
    try {
      String text = readOwn(path);
      String[] lines = text.split("\n", -1);
      if (lines.length > 2 && text.equals(content(identity, lines[2]))) {
        markUsed(path);
        return Optional.of(lines[2]);
      }
      log.warn("{} is damaged and will be written again", path);
    } catch (IOException e) {
      log.debug("{} is not used: {}", path, e.toString());
    }
    return Optional.empty();
  }

  /** Keeps it from being the oldest; on a file system that is read-only it stays as it is. */
  private static void markUsed(Path path) {
    try {
      Files.setLastModifiedTime(path, FileTime.from(Instant.now()));
    } catch (IOException e) {
      log.debug("{} is used all the same: {}", path, e.toString());
    }
  }

  private static String readOwn(Path path) throws IOException {
    int fd = Libc.openToRead(path);
    try {
      Path opened = Path.of("/proc/self/fd/" + fd);
      int mode = (Integer) Files.getAttribute(opened, "unix:mode");
      boolean isPlain = (mode & RegionFile.FILE_KIND) == RegionFile.PLAIN_FILE;
      boolean isOwn = (Integer) Files.getAttribute(opened, "unix:uid") == Libc.user();
      if (!isPlain || !isOwn || (mode & SharedRegions.OTHERS_WRITE) != 0) {
        throw new IOException("it is not a file that only this user can write");
      }
      if (Files.size(opened) > MOST_BYTES) {
        throw new IOException("it is too long");
      }
      return Files.readString(opened, StandardCharsets.ISO_8859_1);
    } finally {
      Libc.close(fd);
    }
  }

  private void write(Path in, FileIdentity identity, String digest) {
    try {
      if (!Files.isDirectory(in)) {
        Files.createDirectories(
            in, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      }
      Path temporary = Files.createTempFile(in, "", TEMPORARY);
      try {
        Files.writeString(temporary, content(identity, digest));
        Files.move(temporary, file(in, identity), StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(temporary);
      }
      tidy(in);
    } catch (IOException | UncheckedIOException e) {
      warn(in, e);
    }
  }

  /** Removes abandoned writes, and beyond {@link #MOST_FILES} those not used for longest. */
  private static void tidy(Path in) throws IOException {
    List<Kept> kept = new ArrayList<>();
    Instant past = Instant.now().minus(LEFT_BEHIND);
    try (Stream<Path> files = Files.list(in)) {
      for (Path file : files.toList()) {
        Kept found = Kept.of(file);
        if (file.toString().endsWith(SUFFIX)) {
          kept.add(found);
        } else if (file.toString().endsWith(TEMPORARY) && found.used.isBefore(past)) {
          Files.deleteIfExists(file);
        }
      }
    }
    kept.sort(Comparator.comparing(Kept::used));
    for (Kept oldest : kept.subList(0, Math.max(0, kept.size() - MOST_FILES))) {
      Files.deleteIfExists(oldest.path);
    }
  }

  private record Kept(Path path, Instant used) {
    /** Of a file that another process removed meanwhile: as if it had not been used for long. */
    static Kept of(Path path) {
      try {
        return new Kept(path, Files.getLastModifiedTime(path).toInstant());
      } catch (IOException _) {
        return new Kept(path, Instant.EPOCH);
      }
    }
  }

  private static Path file(Path in, FileIdentity identity) {
    return in.resolve(hash(identity.toString()) + SUFFIX);
  }

  /** What a file says: four lines, the last of which is the digest of the others. */
  private static String content(FileIdentity identity, String digest) {
    String facts = FORMAT + "\n" + identity + "\n" + digest + "\n";
    return facts + hash(facts) + "\n";
  }

  private static String hash(String text) {
    return HexFormat.of().formatHex(sha256().digest(text.getBytes(StandardCharsets.UTF_8)));
  }

  static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  private void warn(Path in, Exception failure) {
    if (warned.compareAndSet(false, true)) {
      log.warn(
          "digests of weights are not kept, so the next start computes them again: {} cannot be written: {}",
          in,
          failure.toString());
    }
  }
}
