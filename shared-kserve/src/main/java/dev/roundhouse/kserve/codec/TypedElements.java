package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Typed elements of one input, where they lie in a message: counted and found well-formed when the
 * message was read, and made into raw form when their datatype is known. Where more than one field
 * has elements only those of the first are kept, as that is refused in any case.
 */
public final class TypedElements {
  /** What a run costs to remember: first, last, and how it was written. */
  static final int RUN_BYTES = 3 * Integer.BYTES;

  private final ByteBuffer message;
  private final int[] counts = new int[ContentsField.NUMBERS];
  private int field;
  private long payloadBytes;

  /** Begin, end, and whether each element has its tag before it. */
  private int[] runs = new int[3];

  private int runCount;

  TypedElements(ByteBuffer message) {
    this.message = message;
  }

  /**
   * Notes elements that lie together.
   *
   * @param number of their field
   * @param payload their bytes without lengths, where elements have lengths
   * @param tagged true when each has its tag before it
   * @return whether they are remembered on their own
   */
  boolean add(int number, int count, long payload, int begin, int end, boolean tagged) {
    counts[number] += count;
    if (field == 0) {
      field = number;
    }
    if (field != number) {
      return false;
    }
    payloadBytes += payload;
    int last = 3 * (runCount - 1);
    if (runCount > 0 && tagged && runs[last + 1] == begin && runs[last + 2] == 1) {
      runs[last + 1] = end;
      return false;
    }
    if (3 * runCount == runs.length) {
      runs = Arrays.copyOf(runs, 2 * runs.length);
    }
    runs[3 * runCount] = begin;
    runs[3 * runCount + 1] = end;
    runs[3 * runCount + 2] = tagged ? 1 : 0;
    runCount++;
    return true;
  }

  private long rawBytes() {
    return payloadBytes + (long) count(ContentsField.BYTES) * Integer.BYTES;
  }

  int count(ContentsField of) {
    return counts[of.number()];
  }

  /**
   * The elements in raw form.
   *
   * @param elementCount what the shape says
   * @throws WireException INVALID_ARGUMENT when the elements are in the wrong field, too many, too
   *     few, or do not fit the type. Triton keeps the low bytes of an element that does not fit;
   *     that would be a wrong answer without a word, so it is refused here
   */
  ByteBuffer toRaw(DType dtype, long elementCount, InputPlace place) {
    ContentsField expected = expected(dtype, place);
    int count = count(expected);
    if (dtype == DType.BYTES) {
      BytesElements.requireCount(count, elementCount, place);
      BytesElements.requireSize(rawBytes(), place);
    } else {
      SizeCheck.requireBytes(elementCount, dtype, (long) count * dtype.byteSize(), place);
    }
    try {
      return new RawElements(dtype, expected, place).of(this, count);
    } catch (MalformedMessageException e) {
      throw new IllegalStateException("elements that were well-formed are not any more", e);
    }
  }

  private ContentsField expected(DType dtype, InputPlace place) {
    String type = dtype.wireName();
    ContentsField expected =
        ContentsField.of(dtype)
            .orElseThrow(
                () ->
                    WireException.invalidArgument(
                        "unexpected explicit tensor data for input tensor "
                            + place
                            + ": "
                            + type
                            + " has no contents field; send it in raw_input_contents"));
    for (ContentsField other : ContentsField.values()) {
      if (other != expected && count(other) > 0) {
        throw WireException.invalidArgument(
            "unexpected explicit tensor data for input tensor "
                + place
                + ": "
                + type
                + " elements belong in "
                + expected.fieldName()
                + ", but "
                + other.fieldName()
                + " is set");
      }
    }
    return expected;
  }

  /** Gives every element to {@code reader}, in order. */
  void forEach(ElementReader reader) throws MalformedMessageException {
    for (int run = 0; run < runCount; run++) {
      int begin = runs[3 * run];
      WireCursor in = new WireCursor(message.duplicate().position(begin).limit(runs[3 * run + 1]));
      boolean tagged = runs[3 * run + 2] == 1;
      while (in.hasMore()) {
        if (tagged) {
          in.tag();
        }
        reader.read(in);
      }
    }
  }

  /** Reads one element. */
  @FunctionalInterface
  interface ElementReader {
    void read(WireCursor in) throws MalformedMessageException;
  }

  /** Makes raw elements of typed ones. */
  private static final class RawElements {
    private final DType dtype;
    private final ContentsField field;
    private final InputPlace place;
    private ByteBuffer raw = ByteBuffer.allocate(0);
    private int index;

    RawElements(DType dtype, ContentsField field, InputPlace place) {
      this.dtype = dtype;
      this.field = field;
      this.place = place;
    }

    ByteBuffer of(TypedElements elements, int count) throws MalformedMessageException {
      int bytes =
          dtype == DType.BYTES
              ? (int) elements.rawBytes()
              : Math.toIntExact((long) count * dtype.byteSize());
      raw = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
      elements.forEach(this::put);
      return raw.flip();
    }

    private void put(WireCursor in) throws MalformedMessageException {
      switch (field) {
        case BOOL -> raw.put((byte) (in.varint64() != 0 ? 1 : 0));
        case INT -> putInt(in.varint32());
        case INT64, UINT64 -> raw.putLong(in.varint64());
        case UINT -> putUnsigned(in.varint32());
        case FP32 -> raw.putInt(in.fixed32());
        case FP64 -> raw.putLong(in.fixed64());
        case BYTES -> {
          ByteBuffer element = in.bytes();
          raw.putInt(element.remaining()).put(element);
        }
      }
      index++;
    }

    private void putInt(int value) {
      switch (dtype.byteSize()) {
        case Byte.BYTES -> {
          requireRange(value, Byte.MIN_VALUE, Byte.MAX_VALUE);
          raw.put((byte) value);
        }
        case Short.BYTES -> {
          requireRange(value, Short.MIN_VALUE, Short.MAX_VALUE);
          raw.putShort((short) value);
        }
        default -> raw.putInt(value);
      }
    }

    private void putUnsigned(int bits) {
      long value = Integer.toUnsignedLong(bits);
      switch (dtype.byteSize()) {
        case Byte.BYTES -> {
          requireRange(value, 0, 0xFF);
          raw.put((byte) bits);
        }
        case Short.BYTES -> {
          requireRange(value, 0, 0xFFFF);
          raw.putShort((short) bits);
        }
        default -> raw.putInt(bits);
      }
    }

    private void requireRange(long value, long least, long most) {
      if (value < least || value > most) {
        throw WireException.invalidArgument(
            "element "
                + index
                + " of input "
                + place
                + " is "
                + value
                + ", but "
                + dtype.wireName()
                + " holds "
                + least
                + " to "
                + most);
      }
    }
  }
}
