package dev.roundhouse.node.devices;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The driver's files, {@code /dev/nvidia0} and so on: all that a bare container knows of a GPU. */
public final class DeviceFiles implements DeviceSource {
  private static final Pattern FILE = Pattern.compile("nvidia([0-9]{1,4})");

  private final Path folder;

  /**
   * @param folder {@code /dev}
   */
  public DeviceFiles(Path folder) {
    this.folder = folder;
  }

  @Override
  public String name() {
    return folder.resolve("nvidiaN").toString();
  }

  @Override
  public List<String> ids() {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .map(file -> FILE.matcher(file.getFileName().toString()))
          .filter(Matcher::matches)
          .map(file -> Integer.valueOf(file.group(1)))
          .sorted()
          .map(String::valueOf)
          .toList();
    } catch (IOException e) {
      return List.of(); // as on a machine without any
    }
  }
}
