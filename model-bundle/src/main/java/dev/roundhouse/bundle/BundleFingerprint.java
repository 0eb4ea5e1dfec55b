package dev.roundhouse.bundle;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Tells whether a bundle's files have changed, without reading them: path, size, inode, and the
 * times at which content and inode changed, of each, and for links where they lead. The inode tells
 * of a file that another was put in the place of, and its time of one that was written anew, where
 * size and time of content were kept, as nix, bazel and {@code tar} do. Hidden files are no part of
 * a bundle.
 *
 * @param digest equal as long as nothing has changed
 * @param folders real paths: the bundle's own and those in it
 */
public record BundleFingerprint(String digest, List<Path> folders) {

  public BundleFingerprint {
    folders = List.copyOf(folders);
  }

  /**
   * The digest alone.
   *
   * @throws IOException when something in it cannot be looked at
   */
  public static String of(Path directory) throws IOException {
    return look(directory).digest;
  }

  /**
   * Looks at the bundle in a folder, which may be a link to it.
   *
   * @throws IOException when something in it cannot be looked at
   */
  public static BundleFingerprint look(Path directory) throws IOException {
    Path folder = directory.toRealPath();
    List<Path> folders = new ArrayList<>();
    Map<String, String> files = new TreeMap<>();
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
            if (!path.equals(folder) && BundleFiles.isHidden(path)) {
              return FileVisitResult.SKIP_SUBTREE;
            }
            folders.add(path);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path path, BasicFileAttributes attributes)
              throws IOException {
            if (!BundleFiles.isHidden(path)) {
              files.put(folder.relativize(path).toString(), describe(path, attributes));
            }
            return FileVisitResult.CONTINUE;
          }
        });
    // Where the folder itself leads is part of it: a link may be swapped for one to a twin.
    return new BundleFingerprint(digest(folder + "\n" + files), folders);
  }

  private static String describe(Path path, BasicFileAttributes attributes) throws IOException {
    if (!attributes.isSymbolicLink()) {
      return state(path, attributes);
    }
    String target = Files.readSymbolicLink(path).toString();
    try {
      Path real = path.toRealPath();
      return target
          + " -> "
          + real
          + " "
          + state(real, Files.readAttributes(real, BasicFileAttributes.class));
    } catch (NoSuchFileException nowhere) {
      return target + " -> nothing";
    }
  }

  private static String state(Path path, BasicFileAttributes attributes) throws IOException {
    Map<String, Object> inode =
        Files.readAttributes(path, "unix:ino,ctime", LinkOption.NOFOLLOW_LINKS);
    long changed = inode.get("ctime") instanceof FileTime time ? nanos(time) : 0;
    return attributes.size()
        + "@"
        + nanos(attributes.lastModifiedTime())
        + " "
        + inode.get("ino")
        + "@"
        + changed;
  }

  private static long nanos(FileTime time) {
    return time.to(TimeUnit.NANOSECONDS);
  }

  private static String digest(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
