package dev.roundhouse.node.quarantine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A model that a worker was loading.
 *
 * @param model its name
 * @param folder its files
 */
record Loading(String model, Path folder) {
  private static final Logger log = LoggerFactory.getLogger(Loading.class);

  /** What a worker wrote into its {@code repository.loading-file}; none when it wrote nothing. */
  static List<Loading> read(Path file) {
    List<Loading> loading = new ArrayList<>();
    try {
      for (String line : Files.readAllLines(file)) {
        int tab = line.indexOf('\t');
        if (tab > 0) {
          loading.add(new Loading(line.substring(0, tab), Path.of(line.substring(tab + 1))));
        }
      }
    } catch (NoSuchFileException nothing) {
      return List.of();
    } catch (IOException e) {
      log.warn("{} cannot be read: {}; what was being loaded is not known", file, e.toString());
    }
    return loading.stream().distinct().toList();
  }
}
