package dev.roundhouse.kserve.codec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Texts that come again and again in messages, names of models and tensors, so that each is made
 * once. Its size is fixed, whatever comes. For one thread.
 */
final class NameCache {
  /** Longer texts are not kept. */
  static final int LONGEST = 64;

  private static final int ENTRIES = 512;
  private static final long MIX = 0x9E3779B97F4A7C15L;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final byte[] @Nullable [] bytes = new byte[ENTRIES] @Nullable [];
  private final @Nullable String[] texts = new @Nullable String[ENTRIES];

  /**
   * The text whose bytes these are; null when it is not known.
   *
   * @param in little-endian
   */
  @Nullable String find(ByteBuffer in, int at, int length) {
    if (length > LONGEST) {
      return null;
    }
    int entry = entry(in, at, length);
    byte[] known = bytes[entry];
    return known != null && known.length == length && same(known, in, at) ? texts[entry] : null;
  }

  /**
   * Keeps a text in the place of whatever was there.
   *
   * @param utf8 its bytes; taken
   */
  void keep(byte[] utf8, String text) {
    if (utf8.length <= LONGEST) {
      ByteBuffer in = ByteBuffer.wrap(utf8).order(ByteOrder.LITTLE_ENDIAN);
      int entry = entry(in, 0, utf8.length);
      bytes[entry] = utf8;
      texts[entry] = text;
    }
  }

  private static int entry(ByteBuffer in, int at, int length) {
    long hash = length;
    int i = 0;
    for (; i + Long.BYTES <= length; i += Long.BYTES) {
      hash = (hash ^ in.getLong(at + i)) * MIX;
    }
    for (; i < length; i++) {
      hash = (hash ^ in.get(at + i)) * MIX;
    }
    return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(ENTRIES));
  }

  /** True when those bytes are there, all of which are. */
  static boolean same(byte[] known, ByteBuffer in, int at) {
    int last = known.length - Long.BYTES;
    if (last < 0) {
      for (int i = 0; i < known.length; i++) {
        if (known[i] != in.get(at + i)) {
          return false;
        }
      }
      return true;
    }
    for (int i = 0; i < last; i += Long.BYTES) {
      if ((long) LONGS.get(known, i) != in.getLong(at + i)) {
        return false;
      }
    }
    return (long) LONGS.get(known, last) == in.getLong(at + last); // some of them once more
  }
}
