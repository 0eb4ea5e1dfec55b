package dev.roundhouse.worker.trace;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The elements of a tensor as Triton writes them to traces: one text, separated by commas, strings
 * in quotes. Numbers are written so that they can be read back exactly.
 */
final class TensorText {
  private final StringBuilder text = new StringBuilder();
  private long written;

  private TensorText() {}

  /** Of as many whole elements as the bytes hold. */
  static TensorText of(TracedTensor tensor) {
    TensorText made = new TensorText();
    ByteBuffer data = ByteBuffer.wrap(tensor.bytes()).order(ByteOrder.LITTLE_ENDIAN);
    while (data.hasRemaining() && made.add(tensor, data)) {
      made.written = data.position();
    }
    return made;
  }

  /** Bytes of the tensor that are in the text. */
  long written() {
    return written;
  }

  @Override
  public String toString() {
    return text.toString();
  }

  private boolean add(TracedTensor tensor, ByteBuffer data) {
    int before = text.length();
    if (before > 0) {
      text.append(',');
    }
    switch (tensor.dtype()) {
      case BOOL -> text.append(data.get() == 0 ? 0 : 1);
      case I8 -> text.append(data.get());
      case I16 -> text.append(data.getShort());
      case I32 -> text.append(data.getInt());
      case I64 -> text.append(data.getLong());
      case U8 -> text.append(Byte.toUnsignedInt(data.get()));
      case U16 -> text.append(Short.toUnsignedInt(data.getShort()));
      case U32 -> text.append(Integer.toUnsignedLong(data.getInt()));
      case U64 -> text.append(Long.toUnsignedString(data.getLong()));
      case F16 -> text.append(Float.float16ToFloat(data.getShort()));
      case BF16 -> text.append(Float.intBitsToFloat(data.getShort() << Short.SIZE));
      case F32 -> text.append(data.getFloat());
      case F64 -> text.append(data.getDouble());
      case BYTES -> {
        if (!addString(data)) {
          text.setLength(before);
          return false;
        }
      }
      case F8_E5M2, F8_E4M3 -> throw new IllegalStateException("the wire has no " + tensor.dtype());
    }
    return true;
  }

  /** False when only part of an element is left. */
  private boolean addString(ByteBuffer data) {
    if (data.remaining() < Integer.BYTES) {
      return false;
    }
    int length = data.getInt();
    if (length < 0 || length > data.remaining()) {
      return false;
    }
    byte[] bytes = new byte[length];
    data.get(bytes);
    text.append('"').append(new String(bytes, StandardCharsets.UTF_8)).append('"');
    return true;
  }
}
