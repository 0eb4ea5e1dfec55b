package dev.roundhouse.node.wiring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Where workers note what they are loading; removed when the node stops. */
final class RunFolder implements AutoCloseable {
  private final Path path = Files.createTempDirectory("roundhouse-node-");

  RunFolder() throws IOException {}

  Path path() {
    return path;
  }

  @Override
  public void close() {
    try (Stream<Path> files = Files.list(path)) {
      for (Path file : List.copyOf(files.toList())) {
        Files.deleteIfExists(file);
      }
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
