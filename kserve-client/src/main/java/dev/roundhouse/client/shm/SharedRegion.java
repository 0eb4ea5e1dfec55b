package dev.roundhouse.client.shm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A POSIX shared-memory object of this process, for its user alone: {@code
 * shm-NAME-PID-16_HEX_DIGITS}. It has its name until it is closed, collected, or the JVM ends; a
 * process that is killed leaves it behind. Thread-safe.
 */
public final class SharedRegion implements AutoCloseable {
  private static final Path OBJECTS = Path.of("/dev/shm");
  private static final int PIECE_BYTES = 1 << 20;
  private static final Cleaner CLEANER = Cleaner.create();
  private static final SecureRandom RANDOM = new SecureRandom();

  /** What is to be unlinked when the JVM ends. */
  private static final Set<Path> LINKED = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(() -> LINKED.forEach(path -> path.toFile().delete()), "shared-memory"));
  }

  private final Held held;
  private final Cleaner.Cleanable cleanable;

  private SharedRegion(Path path) {
    held = new Held(path);
    cleanable = CLEANER.register(this, held);
  }

  /**
   * Makes an object without bytes.
   *
   * @param name a part of its name: letters, digits, {@code _} and {@code .}
   */
  public static SharedRegion create(String name) throws IOException {
    return create(OBJECTS, name);
  }

  static SharedRegion create(Path folder, String name) throws IOException {
    requireName(name);
    byte[] random = new byte[8];
    RANDOM.nextBytes(random);
    Path path =
        folder.resolve(
            "shm-%s-%d-%s"
                .formatted(name, ProcessHandle.current().pid(), HexFormat.of().formatHex(random)));
    Files.createFile(
        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    LINKED.add(path);
    return new SharedRegion(path);
  }

  /**
   * @throws IllegalArgumentException when an object's name cannot have this in it
   */
  public static void requireName(String name) {
    if (!name.matches("[A-Za-z0-9_.]{1,100}")) {
      throw new IllegalArgumentException(
          "'%s' cannot be part of a shared-memory object's name; use up to 100 letters, digits, _ and ."
              .formatted(name));
    }
  }

  /**
   * Gives it its memory, once: so many zeros. All of it is there afterwards, so that writing to it
   * never meets a full {@code /dev/shm}, which would end the process.
   *
   * @throws IOException when there is not enough
   */
  public void allocate(long bytes) throws IOException {
    long free = Files.getFileStore(held.path).getUsableSpace();
    if (free < bytes) {
      throw new IOException(
          "%s has %d bytes free and a region of %d was wanted; give it more, or the client a smaller one"
              .formatted(held.path.getParent(), free, bytes));
    }
    try (FileChannel file =
        FileChannel.open(held.path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(PIECE_BYTES, bytes));
      for (long at = 0; at < bytes; ) {
        at += file.write(zeros.clear().limit((int) Math.min(zeros.capacity(), bytes - at)), at);
      }
      held.memory = file.map(MapMode.READ_WRITE, 0, bytes, held.arena);
    }
  }

  /** Its name, which is the key that servers open it by when a slash is put before it. */
  public String name() {
    return held.path.getFileName().toString();
  }

  public String key() {
    return "/" + name();
  }

  /** All of its memory; empty before {@link #allocate}. Not to be touched once it is closed. */
  public MemorySegment memory() {
    return held.memory;
  }

  /** Unlinks its name, so that nobody else can open it. Mappings stay. */
  public void unlink() {
    held.unlink();
  }

  /** Unlinks and unmaps it. Harmless when repeated. */
  @Override
  public void close() {
    cleanable.clean();
  }

  /** What must be given back, by whoever comes first. */
  private static final class Held implements Runnable {
    final Path path;
    final Arena arena = Arena.ofShared();
    volatile MemorySegment memory = MemorySegment.NULL;
    private final AtomicBoolean linked = new AtomicBoolean(true);

    Held(Path path) {
      this.path = path;
    }

    void unlink() {
      if (linked.compareAndSet(true, false)) {
        LINKED.remove(path);
        try {
          Files.deleteIfExists(path);
        } catch (IOException e) {
          throw new UncheckedIOException("%s cannot be removed".formatted(path), e);
        }
      }
    }

    @Override
    public void run() {
      try {
        unlink();
      } finally {
        arena.close();
      }
    }
  }
}
