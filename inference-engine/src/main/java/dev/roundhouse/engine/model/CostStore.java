package dev.roundhouse.engine.model;

import dev.roundhouse.engine.schedule.CostEstimate;
import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What runs cost, kept in a file so that a restart knows it. Costs are a hint: a file that cannot
 * be read or written is reported and otherwise ignored. Thread-safe.
 *
 * <p>A cost is found again when model, variant, batch size, program and device are the same.
 */
public final class CostStore {
  private static final Logger log = LoggerFactory.getLogger(CostStore.class);
  private final Optional<Path> file;
  private final String device;
  private final Map<String, Entry> entries = new TreeMap<>();

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
    file.filter(Files::isRegularFile).ifPresent(store::read);
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

  /** Writes what the programs of these models cost now, and what else was known. */
  public synchronized void save(Collection<ServedModel> models) {
    if (file.isEmpty()) {
      return;
    }
    for (ServedModel model : models) {
      for (CompiledProgram program : model.programs()) {
        if (program.cost().measuredNanos() != CostEstimate.NEVER) {
          entries.put(
              key(model.name(), program.variant(), program.batchSize()),
              new Entry(program.sha256(), program.cost().meanNanos(), program.cost().highNanos()));
        }
      }
    }
    write(file.get());
  }

  private void read(Path path) {
    try {
      Content content = json().readValue(Files.readAllBytes(path), Content.class);
      if (device.equals(content.device)) {
        content.programs.forEach(
            (key, entry) -> {
              if (entry.isPlausible()) {
                entries.put(key, entry);
              }
            });
      }
    } catch (IOException | JacksonException | NullPointerException e) {
      log.warn("costs of earlier runs are not used: {} cannot be read: {}", path, e.getMessage());
    }
  }

  private void write(Path path) {
    try {
      Path directory = path.toAbsolutePath().getParent();
      Files.createDirectories(directory);
      Path temporary = Files.createTempFile(directory, "costs", ".tmp");
      try {
        Files.write(temporary, json().writeValueAsBytes(new Content(device, entries)));
        move(temporary, path);
      } finally {
        Files.deleteIfExists(temporary);
      }
    } catch (IOException e) {
      log.warn("costs are not kept: {} cannot be written: {}", path, e.toString());
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

  /** The file. */
  private record Content(String device, Map<String, Entry> programs) {}

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
