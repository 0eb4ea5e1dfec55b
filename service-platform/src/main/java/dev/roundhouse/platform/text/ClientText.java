package dev.roundhouse.platform.text;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Bounds texts that callers read, for they may repeat what a caller has sent, and takes this
 * machine's folders out of them: they are the operator's to know, who finds them in the log and on
 * the management port. A file keeps its path inside its folder.
 */
public final class ClientText {
  private static final int MOST_CHARACTERS = 4096;

  private final List<String> prefixes;

  /**
   * @param folders whose paths no caller is told
   */
  public ClientText(Collection<Path> folders) {
    Set<String> spellings = new LinkedHashSet<>();
    for (Path folder : folders) {
      add(spellings, folder.toAbsolutePath());
      add(spellings, folder.toAbsolutePath().normalize());
      try {
        add(spellings, folder.toRealPath());
      } catch (IOException e) {
        // it is not there, so no text names it by that path
      }
    }
    prefixes =
        spellings.stream().sorted(Comparator.comparingInt(String::length).reversed()).toList();
  }

  /** {@code text} without the folders, and no more of it than anybody reads. */
  public String of(String text) {
    String told =
        text.length() <= MOST_CHARACTERS
            ? text
            : text.substring(0, MOST_CHARACTERS) + "... (" + text.length() + " characters)";
    for (String prefix : prefixes) {
      told = told.replace(prefix + "/", "");
    }
    return told;
  }

  private static void add(Set<String> spellings, Path folder) {
    if (folder.getNameCount() > 0) { // not the root of everything
      spellings.add(folder.toString());
    }
  }
}
