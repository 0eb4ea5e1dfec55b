package dev.roundhouse.bundle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Folders that links in a bundle may point into, besides the bundle's own: caches and stores that
 * keep each file once, such as Hugging Face's, DVC's and nix's.
 *
 * @param folders may be links themselves; those that are not there hold nothing
 * @param setting name of the operator's setting, for messages; empty for none
 */
public record LinkRoots(List<Path> folders, String setting) {
  /** No link leads out of a bundle. */
  public static final LinkRoots NONE = new LinkRoots(List.of(), "");

  public LinkRoots {
    folders = List.copyOf(folders);
  }

  /** True of a real path that lies in one of them. */
  boolean hold(Path target) {
    return folders.stream().anyMatch(folder -> holds(folder, target));
  }

  private static boolean holds(Path folder, Path target) {
    try {
      return target.startsWith(folder.toRealPath());
    } catch (IOException e) {
      return false;
    }
  }

  String whatToDo() {
    return setting.isEmpty()
        ? ""
        : "; copy the file, or name a folder that holds what the link leads to in " + setting;
  }
}
