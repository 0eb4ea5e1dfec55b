package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The value of XLA_FLAGS: what the operator put there, what the configuration adds, and the CUDA
 * data directory. XLA ends the process on a flag that it does not know, so flags are refused here
 * when they are malformed, given twice, or not to be found in the plugin at all.
 */
final class XlaFlags {
  static final String VARIABLE = "XLA_FLAGS";

  private static final String DATA_DIRECTORY = "xla_gpu_cuda_data_dir";
  private static final Pattern FLAG = Pattern.compile("--(xla_[a-z0-9_]+)(=\\S+)?");

  /** By name, as written; never the same name twice. */
  private final Map<String, String> flags = new LinkedHashMap<>();

  private final Set<String> toCheck = new HashSet<>();
  private final String inherited;

  private XlaFlags(String inherited) {
    this.inherited = inherited;
  }

  /**
   * @param inherited what the variable says already; empty when it is not set
   * @param configured one flag each, such as {@code --xla_gpu_autotune_level=2}
   * @throws DeviceException INVALID_ARGUMENT for a flag that is malformed or given twice
   */
  static XlaFlags of(Optional<String> inherited, List<String> configured) {
    String before = inherited.orElse("").strip();
    XlaFlags all = new XlaFlags(before);
    // XLA takes a value that does not begin with dashes for the name of a file with flags.
    if (!before.isEmpty() && !before.startsWith("-") && !configured.isEmpty()) {
      throw refused(
          configured.getFirst(),
          "environment variable %s names a file, %s, to which nothing can be added; write it there"
              .formatted(VARIABLE, before));
    }
    Set<String> given = new HashSet<>(names(before));
    for (String flag : configured) {
      Matcher parsed = FLAG.matcher(flag.strip());
      if (!parsed.matches()) {
        throw refused(
            flag,
            "a flag is written --xla_NAME=VALUE, lower case, without spaces, one to an element");
      }
      if (!given.add(parsed.group(1))) {
        throw refused(
            flag, "it is given twice, maybe in environment variable " + VARIABLE + "; keep one");
      }
      all.flags.put(parsed.group(1), flag.strip());
      all.toCheck.add(parsed.group(1));
    }
    return all;
  }

  /** Adds the directory unless there is one, or nothing can be added. */
  XlaFlags withDataDirectory(Optional<Path> directory) {
    boolean open = inherited.isEmpty() || inherited.startsWith("-");
    if (directory.isPresent() && open && !hasDataDirectory()) {
      flags.put(DATA_DIRECTORY, "--" + DATA_DIRECTORY + "=" + directory.get());
    }
    return this;
  }

  /** True when the operator has said where CUDA's compiler is. */
  boolean hasDataDirectory() {
    return flags.containsKey(DATA_DIRECTORY) || names(inherited).contains(DATA_DIRECTORY);
  }

  /** What to set the variable to; empty when it stays as it is. */
  Optional<String> value() {
    if (flags.isEmpty()) {
      return Optional.empty();
    }
    List<String> all = new ArrayList<>();
    if (!inherited.isEmpty()) {
      all.add(inherited);
    }
    all.addAll(flags.values());
    return Optional.of(String.join(" ", all));
  }

  /**
   * Refuses flags of the configuration whose names the plugin's file does not hold, each followed
   * by a zero byte as C++ has it: XLA cannot know such a flag. Reads the whole file, and only when
   * there are some: up to a second for a CUDA plugin.
   */
  void checkKnownTo(Path plugin) {
    Set<String> unseen = new HashSet<>(toCheck);
    if (unseen.isEmpty()) {
      return;
    }
    int longest = unseen.stream().mapToInt(String::length).max().orElse(0) + 1;
    byte[] window = new byte[longest + (1 << 20)];
    try (InputStream file = Files.newInputStream(plugin)) {
      int kept = 0;
      int read;
      while (!unseen.isEmpty()
          && (read = file.readNBytes(window, kept, window.length - kept)) > 0) {
        String text = new String(window, 0, kept + read, StandardCharsets.ISO_8859_1);
        unseen.removeIf(name -> text.contains(name + "\0"));
        int tail = Math.min(longest, kept + read);
        System.arraycopy(window, kept + read - tail, window, 0, tail);
        kept = tail;
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the plugin " + plugin, e);
    }
    if (!unseen.isEmpty()) {
      String name = unseen.stream().sorted().findFirst().orElseThrow();
      throw refused(
          "--" + name,
          "%s does not know it, and XLA ends a process that is given it".formatted(plugin));
    }
  }

  /** The flags in a file that the variable names; the name itself when there is none. */
  static String ofFile(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException absent) {
      return file.toString();
    }
  }

  private static List<String> names(String value) {
    List<String> names = new ArrayList<>();
    if (value.startsWith("-")) {
      for (String flag : value.split("\\s+")) {
        names.add(flag.replaceAll("^-+|=.*$", ""));
      }
    }
    return names;
  }

  private static DeviceException refused(String flag, String why) {
    return new DeviceException(Code.INVALID_ARGUMENT, "XLA flag '" + flag + "': " + why);
  }
}
