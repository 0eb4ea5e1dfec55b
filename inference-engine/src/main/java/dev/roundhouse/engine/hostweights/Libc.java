package dev.roundhouse.engine.hostweights;

import com.sun.jna.LastErrorException;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.platform.linux.ErrNo;
import com.sun.jna.platform.linux.Fcntl;
import com.sun.jna.platform.linux.LibC;
import com.sun.jna.platform.linux.Mman;
import com.sun.jna.platform.unix.LibCUtil;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;

/**
 * The system calls that Java does not offer: memory by pages and advice on it, locks that belong to
 * an open file, space that is really there. Linux on 64 bits. Thread-safe.
 */
final class Libc {
  static final long PAGE_BYTES = 4096;

  // Of the system's headers, what jna-platform does not have.
  private static final int LOCK_SH = 1;
  private static final int LOCK_EX = 2;
  private static final int LOCK_NB = 4;
  private static final int MADV_DONTNEED = 4;
  private static final int MADV_HUGEPAGE = 14;
  private static final int SEEK_END = 2;

  private static final Calls C = load();

  private Libc() {}

  /** Not enough space. */
  static final class NoSpaceException extends IOException {
    NoSpaceException(String message) {
      super(message);
    }
  }

  /** What jna-platform does not map. */
  private interface Calls extends LibC {
    int open(String path, int flags, Object... mode);

    int flock(int fd, int operation);

    int fchmod(int fd, int mode);

    long lseek(int fd, long offset, int whence);

    long pread(int fd, Pointer into, long bytes, long offset);

    int posix_fallocate(int fd, long offset, long bytes);

    int madvise(Pointer memory, long bytes, int advice);

    String strerror(int error);
  }

  private static Calls load() {
    try {
      return Native.load(LibC.NAME, Calls.class, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));
    } catch (LinkageError e) {
      throw new LinkageError(
          "JNA's library libjnidispatch.so does not load: %s. It is unpacked to a temporary folder: choose one that can be written and allows execution with -Djna.tmpdir, or name the folder of an unpacked one with -Djna.boot.library.path"
              .formatted(e.getMessage()),
          e);
    }
  }

  /** Opens a file for reading and writing, makes it when it is not there, follows no link. */
  static int open(Path path, int mode) throws IOException {
    int flags = Fcntl.O_RDWR | Fcntl.O_CREAT | Fcntl.O_CLOEXEC | Fcntl.O_NOFOLLOW;
    return (int) check("open", C.open(path.toString(), flags, mode));
  }

  /** Opens a file that is there for reading, follows no link and waits for nobody. */
  static int openToRead(Path path) throws IOException {
    int flags = Fcntl.O_RDONLY | Fcntl.O_CLOEXEC | Fcntl.O_NOFOLLOW | Fcntl.O_NONBLOCK;
    return (int) check("open", C.open(path.toString(), flags));
  }

  static void close(int fd) {
    C.close(fd);
  }

  /**
   * Locks an open file, or turns one kind of its lock into the other.
   *
   * @return false when another open file holds a lock that does not go with it; then a lock that
   *     was held is lost
   */
  static boolean tryLock(int fd, boolean exclusive) throws IOException {
    int result = C.flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB);
    if (result < 0 && Native.getLastError() == ErrNo.EAGAIN) {
      return false;
    }
    check("flock", result);
    return true;
  }

  /** Sets permissions, whatever the umask says. */
  static void setMode(int fd, int mode) throws IOException {
    check("fchmod", C.fchmod(fd, mode));
  }

  /** Whose files this process makes. */
  static int user() {
    return C.geteuid();
  }

  /**
   * Reads the first bytes of a file; where somebody cuts it short, fewer.
   *
   * @return how many were read
   */
  static long readStart(int fd, MemorySegment into) throws IOException {
    return check("pread", C.pread(fd, pointer(into), into.byteSize(), 0));
  }

  static long size(int fd) throws IOException {
    return check("lseek", C.lseek(fd, 0, SEEK_END));
  }

  /**
   * Allocates memory for the first {@code bytes} of a file, so that touching them cannot fail.
   *
   * @throws NoSpaceException when there is not as much
   */
  static void allocate(int fd, long bytes) throws IOException {
    int error;
    do {
      error = C.posix_fallocate(fd, 0, bytes);
    } while (error == ErrNo.EINTR);
    if (error == ErrNo.ENOSPC) {
      throw new NoSpaceException(C.strerror(error));
    }
    if (error != 0) {
      throw new IOException("posix_fallocate: " + C.strerror(error));
    }
  }

  /**
   * Maps a file from its start.
   *
   * @return unmapped when {@code arena} is closed
   */
  static MemorySegment map(int fd, long bytes, boolean writable, Arena arena) throws IOException {
    int access = writable ? Mman.PROT_READ | Mman.PROT_WRITE : Mman.PROT_READ;
    return map(fd, bytes, access, Mman.MAP_SHARED, arena);
  }

  /**
   * Takes whole pages of zeros, of which none takes memory before it is touched.
   *
   * @return given back when {@code arena} is closed
   */
  static MemorySegment pages(long bytes, Arena arena) throws IOException {
    int access = Mman.PROT_READ | Mman.PROT_WRITE;
    return map(-1, bytes, access, Mman.MAP_PRIVATE | Mman.MAP_ANONYMOUS, arena);
  }

  private static MemorySegment map(int fd, long bytes, int access, int flags, Arena arena)
      throws IOException {
    try {
      Pointer mapped = LibCUtil.mmap(Pointer.NULL, bytes, access, flags, fd, 0);
      return MemorySegment.ofAddress(Pointer.nativeValue(mapped))
          .reinterpret(bytes, arena, memory -> C.munmap(mapped, new LibC.size_t(bytes)));
    } catch (LastErrorException e) {
      throw new IOException("mmap: " + C.strerror(e.getErrorCode()), e);
    }
  }

  /** Requests pages of 2 MiB; false when the system has none. */
  static boolean adviseHugePages(MemorySegment memory) {
    return C.madvise(pointer(memory), memory.byteSize(), MADV_HUGEPAGE) == 0;
  }

  /** Gives the memory of whole pages back; they are zeros from now on. */
  static void release(MemorySegment pages) {
    C.madvise(pointer(pages), pages.byteSize(), MADV_DONTNEED);
  }

  private static Pointer pointer(MemorySegment memory) {
    return new Pointer(memory.address());
  }

  /** Checks a call that signals failure by a negative result and errno. */
  private static long check(String name, long result) throws IOException {
    if (result < 0) {
      throw new IOException(name + ": " + C.strerror(Native.getLastError()));
    }
    return result;
  }
}
