package dev.roundhouse.bundle;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Tells whether a bundle's files have changed, without reading them: path, size and time of change
 * of each, and for links where they lead. Hidden files are no part of a bundle.
 */
public final class BundleFingerprint {
  private BundleFingerprint() {}

  /**
   * Of the bundle in a folder, which may be a link to it.
   *
   * @throws IOException when something in it cannot be looked at
   */
  public static String of(Path directory) throws IOException {
    Path folder = directory.toRealPath();
    Map<String, String> files = new TreeMap<>();
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
            boolean hidden = !path.equals(folder) && BundleFiles.isHidden(path);
            return hidden ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
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
    return digest(folder + "\n" + files);
  }

  private static String describe(Path path, BasicFileAttributes attributes) throws IOException {
    if (!attributes.isSymbolicLink()) {
      return sizeAndTime(attributes);
    }
    String target = Files.readSymbolicLink(path).toString();
    try {
      Path real = path.toRealPath();
      return target
          + " -> "
          + real
          + " "
          + sizeAndTime(Files.readAttributes(real, BasicFileAttributes.class));
    } catch (NoSuchFileException nowhere) {
      return target + " -> nothing";
    }
  }

  private static String sizeAndTime(BasicFileAttributes attributes) {
    return attributes.size() + "@" + attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS);
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
