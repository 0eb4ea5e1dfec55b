package dev.roundhouse.bundle.model;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a state is before the first step of a sequence: zeros, or the bytes of a file of the bundle,
 * one row, row-major, little-endian. Immutable.
 */
public final class InitialState {
  public static final InitialState ZERO = new InitialState(null, new byte[0]);

  private final @Nullable String file;
  private final byte[] bytes;

  private InitialState(@Nullable String file, byte[] bytes) {
    this.file = file;
    this.bytes = bytes;
  }

  /** A file that has not been read. */
  public static InitialState of(String file) {
    return new InitialState(file, new byte[0]);
  }

  /**
   * The same file, read.
   *
   * @param read become its own
   */
  public InitialState withBytes(byte[] read) {
    return new InitialState(file, read);
  }

  /** The file's name; empty for zeros. */
  public Optional<String> file() {
    return Optional.ofNullable(file);
  }

  /** Of the file; 0 for zeros, of which there are as many as are wanted. */
  public long byteSize() {
    return bytes.length;
  }

  /** Fills {@code target} with the bytes from {@code offset} on. */
  public void copyTo(long offset, MemorySegment target) {
    if (file == null) {
      target.fill((byte) 0);
    } else {
      MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, 0, target.byteSize());
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InitialState that
        && file().equals(that.file())
        && Arrays.equals(bytes, that.bytes);
  }

  @Override
  public int hashCode() {
    return 31 * file().hashCode() + Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return file == null ? "zero" : file;
  }
}
