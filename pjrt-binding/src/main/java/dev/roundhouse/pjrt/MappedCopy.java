package dev.roundhouse.pjrt;

import java.lang.foreign.MemorySegment;

/**
 * Copies from and to mapped files that other processes may make shorter. Touching a mapped page
 * that is gone is a SIGBUS: in a copy of Java's it becomes an error at some later point of the
 * thread, in native code it ends the process. Here it is an answer.
 *
 * <p>The first use puts a handler for SIGBUS before the JVM's own, which gets every signal that is
 * not of such a copy. A library that replaces it later takes the protection away.
 */
public final class MappedCopy {
  static {
    NativeLibrary.load();
    install();
  }

  private MappedCopy() {}

  /** Does what the first copy would do first; harmless when repeated. */
  public static void load() {
    // the class has been initialised
  }

  /**
   * Copies all of one segment into another. Any thread; the thread is in native code meanwhile, so
   * that it keeps no collector waiting.
   *
   * @param from native or mapped
   * @param to native or mapped, of the same size, and no part of {@code from}
   * @return false when a page of either is not there any more, and {@code to} is then partly
   *     written
   * @throws IllegalArgumentException when a segment is on the heap, read-only where it is written,
   *     or of another size
   */
  public static boolean copy(MemorySegment from, MemorySegment to) {
    if (!from.isNative() || !to.isNative() || to.isReadOnly()) {
      throw new IllegalArgumentException(
          "copies go from native to writable native memory, not from %s to %s".formatted(from, to));
    }
    if (from.byteSize() != to.byteSize()) {
      throw new IllegalArgumentException(
          "%d bytes do not fill %d".formatted(from.byteSize(), to.byteSize()));
    }
    return copy(from.address(), to.address(), from.byteSize());
  }

  private static native void install();

  private static native boolean copy(long from, long to, long size);
}
