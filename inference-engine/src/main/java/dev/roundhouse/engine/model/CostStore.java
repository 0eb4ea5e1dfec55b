package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.Digest;
import dev.roundhouse.engine.schedule.CostEstimate;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What runs cost, kept in a file so that a restart knows it. Costs are a hint: a file that cannot
 * be read or written is reported and otherwise ignored. Thread-safe.
 *
 * <p>A cost is found again when model, variant, batch size, program and device are the same.
 * Several processes may share a file: each adds what it has measured to what the file holds by
 * then.
 *
 * <p>The file is JSON: {@code format}, the sha256 of what costs say, and {@code devices}. A file
 * whose digest is another is passed over and replaced, for one digit more in a cost would have
 * every request with a deadline refused. One of a later format is left alone.
 */
public final class CostStore {
  private static final Logger log = LoggerFactory.getLogger(CostStore.class);
  private static final int LOCK_TRIES = 100;
  private static final long LOCK_PAUSE_NANOS = 10_000_000;
  private static final int FORMAT = 1;

  /** Ten thousand models with ten programs each have 20 MB. */
  private static final long MOST_BYTES = 64L << 20;

  private final Optional<Path> file;
  private final String device;
  private final Map<String, Entry> entries = new TreeMap<>();

  /** What this process has measured, which wins over what the file says. */
  private final Map<String, Entry> measured = new TreeMap<>();

  private CostStore(Optional<Path> file, String device) {
    this.file = file;
    this.device = device;
  }

  /**
   * Reads a file, if there is one.
   *
   * @param file empty to keep nothing
   * @param device what costs are of; those of another device are not taken over
   */
  public static CostStore open(Optional<Path> file, String device) {
    CostStore store = new CostStore(file, device);
    try {
      if (file.isPresent()) {
        store.entries.putAll(store.read(file.get()).getOrDefault(device, Map.of()));
      }
    } catch (LaterFormatException e) {
      log.warn("costs of earlier runs are not used, and none are kept: {}", e.getMessage());
    }
    return store;
  }

  /** True when costs are kept. */
  boolean isKept() {
    return file.isPresent();
  }

  /** Has an estimate begin with what is known of a program. */
  synchronized void seed(
      CostEstimate cost, String model, int variant, int batchSize, String sha256) {
    Entry entry = entries.get(key(model, variant, batchSize));
    if (entry != null && entry.sha256.equals(sha256)) {
      cost.assume(entry.meanNanos, entry.highNanos);
    }
  }

  /** Adds what the programs of these models cost now to what the file holds. */
  public synchronized void save(Collection<ProgramModel> models) {
    if (file.isEmpty()) {
      return;
    }
    for (ProgramModel model : models) {
      for (CompiledProgram program : model.programs()) {
        if (program.cost().measuredNanos() != CostEstimate.NEVER) {
          measured.put(
              key(model.name(), program.variant(), program.batchSize()),
              new Entry(program.sha256(), program.cost().meanNanos(), program.cost().highNanos()));
        }
      }
    }
    entries.putAll(measured);
    write(file.get());
  }

  /** Costs by device, then by program; what makes no sense is left out. */
  private Map<String, Map<String, Entry>> read(Path path) throws LaterFormatException {
    Map<String, Map<String, Entry>> plausible = new TreeMap<>();
    if (!Files.exists(path)) {
      return plausible;
    }
    try {
      JsonMapper json = json();
      JsonNode tree = json.readTree(bytes(path));
      int format = tree.path("format").asInt(0);
      if (format > FORMAT) {
        throw new LaterFormatException(path, format);
      }
      Content content = json.treeToValue(tree, Content.class);
      content.check();
      content.devices.forEach(
          (name, programs) -> {
            Map<String, Entry> kept = new TreeMap<>(programs);
            kept.values().removeIf(entry -> entry == null || !entry.isPlausible());
            plausible.put(name, kept);
          });
    } catch (LaterFormatException e) {
      throw e;
    } catch (IOException | JacksonException | NullPointerException e) {
      log.warn("costs of earlier runs are not used: {} cannot be read: {}", path, e.getMessage());
    }
    return plausible;
  }

  /**
   * Only of a file that has a size that can be: reading a pipe would wait for ever, and reading
   * what somebody else has put there takes memory.
   */
  private static byte[] bytes(Path path) throws IOException {
    if (!Files.isRegularFile(path)) {
      throw new IOException("it is no file; remove it");
    }
    try (InputStream in = Files.newInputStream(path)) {
      byte[] bytes = Files.size(path) > MOST_BYTES ? null : in.readNBytes((int) MOST_BYTES + 1);
      if (bytes == null || bytes.length > MOST_BYTES) {
        throw new IOException(
            "it has %d bytes, and costs have %d at most; remove it"
                .formatted(Files.size(path), MOST_BYTES));
      }
      return bytes;
    }
  }

  private void write(Path path) {
    try {
      Path directory = Files.createDirectories(path.toAbsolutePath().getParent());
      try (FileChannel lock = lock(path.resolveSibling(path.getFileName() + ".lock"))) {
        Map<String, Map<String, Entry>> devices = read(path);
        Map<String, Entry> programs = devices.computeIfAbsent(device, none -> new TreeMap<>());
        entries.forEach(programs::putIfAbsent);
        programs.putAll(measured);
        entries.putAll(programs);
        replace(
            path,
            directory,
            json().writeValueAsBytes(new Content(FORMAT, digest(devices), devices)));
      }
    } catch (LaterFormatException e) {
      log.debug("costs are not kept: {}", e.getMessage()); // said when it was opened
    } catch (IOException e) {
      log.warn("costs are not kept: {} cannot be written: {}", path, e.toString());
    }
  }

  private static void replace(Path path, Path directory, byte[] content) throws IOException {
    Path temporary = Files.createTempFile(directory, "costs", ".tmp");
    try {
      Files.write(temporary, content);
      move(temporary, path);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /**
   * Holds off other processes until it is closed. When one holds it for long, stopped in the middle
   * for instance, goes on without: the file is replaced whole in any case.
   */
  private static FileChannel lock(Path file) throws IOException {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      throw new IOException(file + " is no file; remove it"); // opening a pipe would wait
    }
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    try {
      for (int tries = 0; tries < LOCK_TRIES && !locked(channel); tries++) {
        LockSupport.parkNanos(LOCK_PAUSE_NANOS);
      }
      return channel;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  private static boolean locked(FileChannel channel) throws IOException {
    try {
      return channel.tryLock() != null;
    } catch (OverlappingFileLockException anotherEngineOfThisProcess) {
      return false;
    }
  }

  /** Made when it is needed: that takes longer than everything else about an engine without it. */
  private static JsonMapper json() {
    return JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();
  }

  private static void move(Path from, Path to) throws IOException {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static String key(String model, int variant, int batchSize) {
    return model + "/" + variant + "/" + batchSize;
  }

  /** Of all costs, in their order, however the file is laid out. */
  private static String digest(Map<String, Map<String, Entry>> devices) {
    StringBuilder text = new StringBuilder();
    devices.forEach(
        (name, programs) -> {
          text.append(name).append('\n');
          programs.forEach((key, cost) -> text.append(key).append(' ').append(cost).append('\n'));
        });
    return Digest.of(text.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** The file is a later build's, which may go on with it. */
  private static final class LaterFormatException extends IOException {
    LaterFormatException(Path path, int format) {
      super("%s is of format %d, and this build reads %d".formatted(path, format, FORMAT));
    }
  }

  /** The file; one of a build that wrote neither format nor digest has only devices. */
  private record Content(
      @Nullable Integer format, @Nullable String sha256, Map<String, Map<String, Entry>> devices) {
    void check() throws IOException {
      if ((format != null || sha256 != null) && !digest(devices).equals(sha256)) {
        throw new IOException("its sha256 is not the recorded one");
      }
    }
  }

  /**
   * One program's cost.
   *
   * @param sha256 of its artifact
   */
  private record Entry(String sha256, double meanNanos, long highNanos) {
    boolean isPlausible() {
      return sha256 != null && meanNanos > 0 && Double.isFinite(meanNanos) && highNanos > 0;
    }
  }
}
