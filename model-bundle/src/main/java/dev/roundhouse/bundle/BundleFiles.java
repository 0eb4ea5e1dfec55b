package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The files of a bundle by name, every one of them inside the folder or in one of the folders that
 * links may lead into. Dot files and those that Windows creates are not part of a bundle:
 * Kubernetes and desktops leave such entries behind.
 */
final class BundleFiles {
  private static final int MAX_DEPTH = 8;
  private static final int MAX_FILES = 10_000;

  private final Path folder;
  private final LinkRoots roots;
  private final SortedMap<String, Path> files = new TreeMap<>();

  private BundleFiles(Path folder, LinkRoots roots) {
    this.folder = folder;
    this.roots = roots;
  }

  /**
   * @param folder its real path, free of links
   * @param roots into which links may lead besides
   * @throws BundleException when an entry is no plain file, or a link leads elsewhere
   */
  static BundleFiles list(Path folder, LinkRoots roots) {
    BundleFiles files = new BundleFiles(folder, roots);
    try {
      Files.walkFileTree(folder, files.new Visitor());
    } catch (IOException e) {
      throw BundleException.inaccessible(folder, "cannot be listed", e);
    }
    return files;
  }

  /** True for a file that is not part of a bundle. */
  static boolean isHidden(Path path) {
    String name = path.getFileName().toString();
    return name.startsWith(".")
        || name.equalsIgnoreCase("Thumbs.db")
        || name.equalsIgnoreCase("desktop.ini");
  }

  Optional<Path> find(String name) {
    return Optional.ofNullable(files.get(name));
  }

  boolean has(String name) {
    return files.containsKey(name);
  }

  SortedMap<String, Path> all() {
    return files;
  }

  /**
   * Refuses unless {@code digests} names exactly the files there are, each with its sha256. The
   * weights are hashed when they are copied, which reads them once instead of twice.
   */
  void check(Map<String, String> digests) {
    for (String name : digests.keySet()) {
      if (!has(name)) {
        throw new BundleException(
            folder.resolve(name).toString(),
            "is listed in manifest.yaml under files, but is not there");
      }
    }
    for (Map.Entry<String, Path> entry : files.entrySet()) {
      String expected = digests.get(entry.getKey());
      if (expected != null && entry.getKey().equals(BundleReader.WEIGHTS)) {
        continue;
      }
      if (expected != null) {
        Digest.check(entry.getValue(), Digest.of(entry.getValue()), expected);
      } else if (!entry.getKey().equals(BundleReader.MANIFEST)) {
        throw new BundleException(
            entry.getValue().toString(), "is not listed in manifest.yaml under files");
      }
    }
  }

  private final class Visitor extends SimpleFileVisitor<Path> {
    @Override
    public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
      if (path.equals(folder)) {
        return FileVisitResult.CONTINUE;
      }
      if (isHidden(path)) {
        return FileVisitResult.SKIP_SUBTREE;
      }
      String name = folder.relativize(path).toString();
      if (BundleReader.isReserved(name)) {
        throw new BundleException(path.toString(), "is a folder, not a file");
      }
      if (folder.relativize(path).getNameCount() > MAX_DEPTH) {
        throw new BundleException(path.toString(), "lies more than " + MAX_DEPTH + " folders deep");
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path path, BasicFileAttributes attributes) throws IOException {
      if (isHidden(path)) {
        return FileVisitResult.CONTINUE;
      }
      if (files.size() == MAX_FILES) {
        throw new BundleException(folder.toString(), "holds more than " + MAX_FILES + " files");
      }
      if (attributes.isSymbolicLink()) {
        checkLink(path);
      } else if (!attributes.isRegularFile()) {
        throw new BundleException(path.toString(), "is not a plain file");
      }
      files.put(folder.relativize(path).toString(), path);
      return FileVisitResult.CONTINUE;
    }

    private void checkLink(Path path) {
      Path target;
      try {
        target = path.toRealPath();
      } catch (IOException e) {
        throw new BundleException(path.toString(), "is a link that leads nowhere", e);
      }
      if (!target.startsWith(folder) && !roots.hold(target)) {
        throw new BundleException(
            path.toString(), "is a link that leads out of the bundle" + roots.whatToDo());
      }
      if (!Files.isRegularFile(target)) {
        throw new BundleException(path.toString(), "is a link to something that is not a file");
      }
    }
  }
}
