package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Turns typed elements into the raw little-endian form that everything behind the wire uses. */
final class TypedContents {
  private TypedContents() {}

  /**
   * @param elementCount what the shape says
   * @throws WireException INVALID_ARGUMENT when the elements are in the wrong field, too many, too
   *     few, or do not fit the type. Triton keeps the low bytes of an element that does not fit;
   *     that would be a wrong answer without a word, so it is refused here
   */
  static ByteBuffer toRaw(
      InferTensorContents contents, DType dtype, long elementCount, InputPlace place) {
    ContentsField field = field(contents, dtype, place);
    int count = field.count(contents);
    if (dtype == DType.BYTES) {
      return BytesElements.toRaw(contents.getBytesContentsList(), elementCount, place);
    }
    long byteSize = (long) count * dtype.byteSize();
    SizeCheck.requireBytes(elementCount, dtype, byteSize, place);
    ByteBuffer raw = ByteBuffer.allocate(Math.toIntExact(byteSize)).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      switch (field) {
        case BOOL -> raw.put((byte) (contents.getBoolContents(i) ? 1 : 0));
        case INT -> putInt(raw, contents.getIntContents(i), dtype, i, place);
        case INT64 -> raw.putLong(contents.getInt64Contents(i));
        case UINT -> putUnsigned(raw, contents.getUintContents(i), dtype, i, place);
        case UINT64 -> raw.putLong(contents.getUint64Contents(i));
        case FP32 -> raw.putFloat(contents.getFp32Contents(i));
        case FP64 -> raw.putDouble(contents.getFp64Contents(i));
        case BYTES -> throw new AssertionError("BYTES elements have no fixed size");
      }
    }
    return raw.flip();
  }

  private static ContentsField field(InferTensorContents contents, DType dtype, InputPlace place) {
    String type = SizeCheck.wireName(dtype);
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
    ContentsField.otherThan(expected, contents)
        .ifPresent(
            other -> {
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
            });
    return expected;
  }

  private static void putInt(ByteBuffer raw, int value, DType dtype, int index, InputPlace place) {
    switch (dtype.byteSize()) {
      case Byte.BYTES -> {
        requireRange(value, Byte.MIN_VALUE, Byte.MAX_VALUE, dtype, index, place);
        raw.put((byte) value);
      }
      case Short.BYTES -> {
        requireRange(value, Short.MIN_VALUE, Short.MAX_VALUE, dtype, index, place);
        raw.putShort((short) value);
      }
      default -> raw.putInt(value);
    }
  }

  private static void putUnsigned(
      ByteBuffer raw, int bits, DType dtype, int index, InputPlace place) {
    long value = Integer.toUnsignedLong(bits);
    switch (dtype.byteSize()) {
      case Byte.BYTES -> {
        requireRange(value, 0, 0xFF, dtype, index, place);
        raw.put((byte) bits);
      }
      case Short.BYTES -> {
        requireRange(value, 0, 0xFFFF, dtype, index, place);
        raw.putShort((short) bits);
      }
      default -> raw.putInt(bits);
    }
  }

  private static void requireRange(
      long value, long least, long most, DType dtype, int index, InputPlace place) {
    if (value < least || value > most) {
      throw WireException.invalidArgument(
          "element "
              + index
              + " of input "
              + place
              + " is "
              + value
              + ", but "
              + SizeCheck.wireName(dtype)
              + " holds "
              + least
              + " to "
              + most);
    }
  }
}
