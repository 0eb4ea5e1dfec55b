package dev.roundhouse.bundle.weights;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;

/**
 * Tells a file from others, and from itself once it was changed, without reading it.
 *
 * @param modified of the content; tools may set it back
 * @param changed of the inode; the system sets it at each change
 */
public record FileIdentity(
    long device, long inode, long size, FileTime modified, FileTime changed) {

  /** Of the file behind a path, links followed. */
  public static FileIdentity of(Path path) throws IOException {
    Map<String, Object> file =
        Files.readAttributes(path, "unix:dev,ino,size,lastModifiedTime,ctime");
    return new FileIdentity(
        number(file, "dev"),
        number(file, "ino"),
        number(file, "size"),
        (FileTime) attribute(file, "lastModifiedTime"),
        (FileTime) attribute(file, "ctime"));
  }

  private static long number(Map<String, Object> file, String name) {
    return ((Number) attribute(file, name)).longValue();
  }

  private static Object attribute(Map<String, Object> file, String name) {
    Object value = file.get(name);
    if (value == null) {
      throw new IllegalStateException("the system does not say '" + name + "' of a file");
    }
    return value;
  }
}
