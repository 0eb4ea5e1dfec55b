package dev.roundhouse.engine.hostweights;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * An open file of a shared region, and the lock that its user holds for as long as it uses it: the
 * system gives that up when the process ends, however it ends.
 */
final class RegionFile implements AutoCloseable {
  static final int FILE_KIND = 0170000;
  static final int PLAIN_FILE = 0100000;

  private final Path path;
  private final int fd;

  private RegionFile(Path path, int fd) {
    this.path = path;
    this.fd = fd;
  }

  /** Opens the file, or makes an empty one, which only its owner may use. */
  static RegionFile open(Path path) throws IOException {
    return new RegionFile(path, Libc.open(path, 0600));
  }

  int fd() {
    return fd;
  }

  /** What is wrong with it as a region of this user's; empty when nothing is. */
  String refusal() throws IOException {
    int owner = (Integer) Files.getAttribute(opened(), "unix:uid");
    int mode = (Integer) Files.getAttribute(opened(), "unix:mode");
    if ((mode & FILE_KIND) != PLAIN_FILE) {
      return path + " is no plain file";
    }
    // Its owner can truncate it, which would kill every process that reads it in place.
    return owner == Libc.user()
        ? ""
        : "%s belongs to user %d and this process to %d; run workers that share as one user"
            .formatted(path, owner, Libc.user());
  }

  /** False when the file has been unlinked: others see another one, or none. */
  boolean isLinked() throws IOException {
    return (Integer) Files.getAttribute(opened(), "unix:nlink") > 0;
  }

  /** Locks it as the only user, without waiting. */
  boolean tryLockAlone() throws IOException {
    return Libc.tryLock(fd, true);
  }

  /** Locks it as one of several users, without waiting. */
  boolean tryLockShared() throws IOException {
    return Libc.tryLock(fd, false);
  }

  void unlink() throws IOException {
    if (isLinked()) {
      Files.deleteIfExists(path);
    }
  }

  /** Removes the file when nobody else uses it, and lets go of it. */
  void leave() {
    try (this) {
      if (tryLockAlone()) {
        unlink();
      }
    } catch (IOException _) {
      // It stays behind without a user; the next start of a worker sweeps it.
    }
  }

  @Override
  public void close() {
    Libc.close(fd);
  }

  /** The open file itself, whatever has become of its name. */
  private Path opened() {
    return Path.of("/proc/self/fd/" + fd);
  }
}
