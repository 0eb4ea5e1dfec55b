package dev.roundhouse.hooks.text;

import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * Texts encoded together, {@link #rows} by {@link #length}, all rows equally long by padding.
 *
 * <p>Each {@code put} writes {@code rows * length} values, row by row, at the buffer's position and
 * moves it behind them; a buffer with less room is refused with {@link
 * java.nio.BufferOverflowException} before anything is written. Immutable.
 */
public final class TextBatch {
  private final List<Encoding> encodings;
  private final Padding padding;
  private final int length;

  TextBatch(List<Encoding> encodings, Padding padding) {
    this.encodings = List.copyOf(encodings);
    this.padding = padding;
    this.length = padding.length(encodings.stream().mapToInt(Encoding::length).max().orElse(0));
  }

  public int rows() {
    return encodings.size();
  }

  /** Returns the tokens per row, padding included. */
  public int length() {
    return length;
  }

  public Encoding row(int row) {
    return encodings.get(row);
  }

  public void putIds(IntBuffer into) {
    checkRoom(into.remaining());
    forEach(Values.IDS, into::put);
  }

  public void putIds(LongBuffer into) {
    checkRoom(into.remaining());
    forEach(Values.IDS, into::put);
  }

  /** Writes 1 where there is a token and 0 where there is padding. */
  public void putAttentionMask(IntBuffer into) {
    checkRoom(into.remaining());
    forEach(Values.MASK, into::put);
  }

  /** Writes 1 where there is a token and 0 where there is padding. */
  public void putAttentionMask(LongBuffer into) {
    checkRoom(into.remaining());
    forEach(Values.MASK, into::put);
  }

  public void putTypeIds(IntBuffer into) {
    checkRoom(into.remaining());
    forEach(Values.TYPE_IDS, into::put);
  }

  public void putTypeIds(LongBuffer into) {
    checkRoom(into.remaining());
    forEach(Values.TYPE_IDS, into::put);
  }

  private enum Values {
    IDS,
    MASK,
    TYPE_IDS
  }

  private void checkRoom(int remaining) {
    if (remaining < (long) rows() * length) {
      throw new java.nio.BufferOverflowException();
    }
  }

  private void forEach(Values values, IntConsumer put) {
    int pad =
        switch (values) {
          case IDS -> padding.id();
          case MASK -> 0;
          case TYPE_IDS -> padding.typeId();
        };
    for (Encoding row : encodings) {
      int padded = length - row.length();
      repeat(put, pad, padding.onLeft() ? padded : 0);
      for (int i = 0; i < row.length(); i++) {
        put.accept(
            switch (values) {
              case IDS -> row.id(i);
              case MASK -> 1;
              case TYPE_IDS -> row.typeId(i);
            });
      }
      repeat(put, pad, padding.onLeft() ? 0 : padded);
    }
  }

  private static void repeat(IntConsumer put, int value, int times) {
    for (int i = 0; i < times; i++) {
      put.accept(value);
    }
  }
}
