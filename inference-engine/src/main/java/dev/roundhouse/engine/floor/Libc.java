package dev.roundhouse.engine.floor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/**
 * The system calls that Java does not offer: memory by pages and advice on it, locks that belong to
 * an open file, space that is really there. Linux on 64 bits. Thread-safe.
 */
final class Libc {
  static final long PAGE_BYTES = 4096;

  private static final int NO_SPACE = 28;
  private static final int WOULD_BLOCK = 11;
  private static final int INTERRUPTED = 4;

  private static final int READ_WRITE_CREATE = 02 | 0100;
  private static final int CLOSE_ON_EXEC = 02000000;
  private static final int NO_LINKS = 0400000;

  private static final int LOCK_SHARED = 1;
  private static final int LOCK_EXCLUSIVE = 2;
  private static final int LOCK_NO_WAIT = 4;

  private static final int READ = 1;
  private static final int WRITE = 2;
  private static final int MAP_SHARED = 1;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int DONT_NEED = 4;
  private static final int HUGE_PAGE = 14;
  private static final int FROM_END = 2;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

  private static final MethodHandle OPEN =
      find(
          "open",
          FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
          CAPTURE,
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle CLOSE =
      find("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle FLOCK =
      find("flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), CAPTURE);
  private static final MethodHandle FCHMOD =
      find("fchmod", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), CAPTURE);
  private static final MethodHandle LSEEK =
      find("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT), CAPTURE);
  private static final MethodHandle FALLOCATE =
      find("posix_fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle MMAP =
      find(
          "mmap",
          FunctionDescriptor.of(
              ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
          CAPTURE);
  private static final MethodHandle MUNMAP =
      find("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle MADVISE =
      find("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  private static final MethodHandle PREAD =
      find(
          "pread",
          FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG),
          CAPTURE);
  private static final MethodHandle GETEUID = find("geteuid", FunctionDescriptor.of(JAVA_INT));
  private static final MethodHandle STRERROR =
      find("strerror", FunctionDescriptor.of(ADDRESS, JAVA_INT));

  private Libc() {}

  /** There is no room for what was asked for. */
  static final class NoSpaceException extends IOException {
    NoSpaceException(String message) {
      super(message);
    }
  }

  /** A call that sets errno when it fails, which it tells by a negative result. */
  private interface Call {
    long in(MemorySegment state) throws Throwable;
  }

  /** Opens a file for reading and writing, makes it when it is not there, follows no link. */
  static int open(Path path, int mode) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(path.toString());
      int flags = READ_WRITE_CREATE | CLOSE_ON_EXEC | NO_LINKS;
      return (int) call("open", state -> (int) OPEN.invokeExact(state, name, flags, mode));
    }
  }

  static void close(int fd) {
    invoke(() -> (int) CLOSE.invokeExact(fd));
  }

  /**
   * Locks an open file, or turns one kind of its lock into the other.
   *
   * @return false when another open file holds a lock that does not go with it; then a lock that
   *     was held is lost
   */
  static boolean tryLock(int fd, boolean exclusive) throws IOException {
    int how = (exclusive ? LOCK_EXCLUSIVE : LOCK_SHARED) | LOCK_NO_WAIT;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      if (invoke(() -> (int) FLOCK.invokeExact(state, fd, how)) == 0) {
        return true;
      }
      int error = (int) ERRNO.get(state, 0L);
      if (error == WOULD_BLOCK) {
        return false;
      }
      throw new IOException("flock: " + text(error));
    }
  }

  /** Sets permissions, whatever the umask says. */
  static void setMode(int fd, int mode) throws IOException {
    call("fchmod", state -> (int) FCHMOD.invokeExact(state, fd, mode));
  }

  /** Whose files this process makes. */
  static int user() {
    return (int) invoke(() -> (int) GETEUID.invokeExact());
  }

  /**
   * Reads the first bytes of a file; where somebody cuts it short, fewer.
   *
   * @return how many were read
   */
  static long readStart(int fd, MemorySegment into) throws IOException {
    return call("pread", state -> (long) PREAD.invokeExact(state, fd, into, into.byteSize(), 0L));
  }

  static long size(int fd) throws IOException {
    return call("lseek", state -> (long) LSEEK.invokeExact(state, fd, 0L, FROM_END));
  }

  /**
   * Sees to it that the first {@code bytes} of a file have memory, so that touching them cannot
   * fail.
   *
   * @throws NoSpaceException when there is not as much
   */
  static void allocate(int fd, long bytes) throws IOException {
    long error;
    do {
      error = invoke(() -> (int) FALLOCATE.invokeExact(fd, 0L, bytes));
    } while (error == INTERRUPTED);
    if (error == NO_SPACE) {
      throw new NoSpaceException(text(NO_SPACE));
    }
    if (error != 0) {
      throw new IOException("posix_fallocate: " + text((int) error));
    }
  }

  /**
   * Maps a file from its start.
   *
   * @return unmapped when {@code arena} is closed
   */
  static MemorySegment map(int fd, long bytes, boolean writable, Arena arena) throws IOException {
    return map(fd, bytes, writable ? READ | WRITE : READ, MAP_SHARED, arena);
  }

  /**
   * Takes whole pages of zeros, of which none takes memory before it is touched.
   *
   * @return given back when {@code arena} is closed
   */
  static MemorySegment pages(long bytes, Arena arena) throws IOException {
    return map(-1, bytes, READ | WRITE, MAP_PRIVATE_ANONYMOUS, arena);
  }

  private static MemorySegment map(int fd, long bytes, int access, int flags, Arena arena)
      throws IOException {
    MemorySegment[] mapped = new MemorySegment[1];
    call(
        "mmap",
        state -> {
          mapped[0] =
              (MemorySegment)
                  MMAP.invokeExact(state, MemorySegment.NULL, bytes, access, flags, fd, 0L);
          return mapped[0].address();
        });
    return mapped[0].reinterpret(
        bytes, arena, memory -> invoke(() -> (int) MUNMAP.invokeExact(memory, bytes)));
  }

  /** Asks for pages of 2 MiB; false when the system has none. */
  static boolean adviseHugePages(MemorySegment memory) {
    return advise(memory, HUGE_PAGE);
  }

  /** Gives the memory of whole pages back; they are zeros from now on. */
  static void release(MemorySegment pages) {
    advise(pages, DONT_NEED);
  }

  private static boolean advise(MemorySegment memory, int advice) {
    return invoke(() -> (int) MADVISE.invokeExact(memory, memory.byteSize(), advice)) == 0;
  }

  private static long call(String name, Call call) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      long result = invoke(() -> call.in(state));
      if (result < 0) {
        throw new IOException(name + ": " + text((int) ERRNO.get(state, 0L)));
      }
      return result;
    }
  }

  private static String text(int error) {
    try {
      MemorySegment message = (MemorySegment) STRERROR.invokeExact(error);
      return message.reinterpret(Long.MAX_VALUE).getString(0);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private interface Invocation {
    long run() throws Throwable;
  }

  private static long invoke(Invocation invocation) {
    try {
      return invocation.run();
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static RuntimeException unexpected(Throwable e) {
    return switch (e) {
      case RuntimeException own -> own;
      case Error error -> throw error;
      default -> new IllegalStateException(e);
    };
  }

  private static MethodHandle find(String name, FunctionDescriptor type, Linker.Option... options) {
    return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), type, options);
  }
}
