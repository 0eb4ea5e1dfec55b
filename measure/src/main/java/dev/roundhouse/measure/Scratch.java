package dev.roundhouse.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A temporary folder, gone when closed. */
public record Scratch(Path path) implements AutoCloseable {

  public static Scratch create() throws IOException {
    return new Scratch(Files.createTempDirectory("roundhouse-bench-"));
  }

  @Override
  public void close() throws IOException {
    try (Stream<Path> files = Files.walk(path)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
