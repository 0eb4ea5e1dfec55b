package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.kserve.status.WireException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** The POSIX shared memory objects that this process can see. Thread-safe. */
public final class SharedObjects {
  private static final Path OBJECTS = Path.of("/dev/shm");
  private static final int LONGEST_NAME = 255;

  private final Path objects;

  public SharedObjects() {
    this(OBJECTS);
  }

  /**
   * @param objects folder that holds them
   */
  SharedObjects(Path objects) {
    this.objects = objects;
  }

  /**
   * The file of an object, whether or not it is there.
   *
   * @param key as for {@code shm_open}; leading slashes are ignored
   * @throws WireException INVALID_ARGUMENT when no object can have that name
   */
  Path file(String key) {
    String name = key.replaceFirst("^/+", "");
    if (name.isEmpty()
        || name.length() > LONGEST_NAME
        || name.equals(".")
        || name.equals("..")
        || name.indexOf('/') >= 0
        || name.indexOf('\0') >= 0) {
      throw WireException.invalidArgument(
          "invalid shared memory key '%s': a key is a name of 1 to %d characters, with or without a slash before it"
              .formatted(key, LONGEST_NAME));
    }
    return objects.resolve(name);
  }

  /**
   * True when there is an object of that name that can be read: then the client that made it and
   * this process share memory.
   *
   * @throws WireException INVALID_ARGUMENT when no object can have that name
   */
  public boolean sees(String key) {
    Path file = file(key);
    return isObject(file) && Files.isReadable(file);
  }

  /** False for links, which may lead out of the folder. */
  static boolean isObject(Path file) {
    return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS);
  }
}
