package dev.roundhouse.platform.rest;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import tools.jackson.core.JsonGenerator;

/** Writes the elements of an output as flat JSON while they are sent. Thread-safe. */
public final class ElementsJson {
  /** Written before yielding the processor. */
  private static final int PIECE_ELEMENTS = 1 << 15;

  private ElementsJson() {}

  /**
   * @throws WireException INVALID_ARGUMENT when JSON has no form for the output
   */
  public static void requireForm(ResponseTensor output) {
    switch (output.dtype()) {
      case F16, BF16, F8_E5M2, F8_E4M3 ->
          throw WireException.invalidArgument(
              "output '%s' is %s, which JSON has no form for; request it as a binary tensor, with 'binary_data'"
                  .formatted(output.name(), output.dtype().wireName()));
      case BYTES -> requireText(output);
      case BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64 -> {
        // numbers, true and false
      }
    }
  }

  public static void write(JsonGenerator json, ResponseTensor output) {
    DType dtype = output.dtype();
    ByteBuffer data = data(output);
    for (long written = 1; data.hasRemaining(); written++) {
      write(json, dtype, data);
      if (written % PIECE_ELEMENTS == 0) {
        Thread.yield();
      }
    }
  }

  private static void write(JsonGenerator json, DType dtype, ByteBuffer data) {
    switch (dtype) {
      case BOOL -> json.writeBoolean(data.get() != 0);
      case I8 -> json.writeNumber((int) data.get());
      case I16 -> json.writeNumber((int) data.getShort());
      case I32 -> json.writeNumber(data.getInt());
      case I64 -> json.writeNumber(data.getLong());
      case U8 -> json.writeNumber(Byte.toUnsignedInt(data.get()));
      case U16 -> json.writeNumber(Short.toUnsignedInt(data.getShort()));
      case U32 -> json.writeNumber(Integer.toUnsignedLong(data.getInt()));
      case U64 -> {
        long value = data.getLong();
        if (value >= 0) {
          json.writeNumber(value);
        } else {
          json.writeNumber(Long.toUnsignedString(value));
        }
      }
      case F32 -> json.writeNumber(data.getFloat());
      case F64 -> json.writeNumber(data.getDouble());
      case BYTES -> {
        int length = data.getInt();
        if (length < 0 || length > data.remaining()) {
          throw new IllegalStateException("strings were changed after they were answered");
        }
        byte[] text = new byte[length];
        data.get(text);
        json.writeString(new String(text, StandardCharsets.UTF_8));
      }
      case F16, BF16, F8_E5M2, F8_E4M3 -> throw new IllegalStateException("no JSON of " + dtype);
    }
  }

  private static void requireText(ResponseTensor output) {
    CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer data = data(output);
    try {
      while (data.hasRemaining()) {
        int length = data.getInt();
        utf8.decode(data.slice(data.position(), length));
        data.position(data.position() + length);
      }
    } catch (CharacterCodingException e) {
      throw WireException.invalidArgument(
          "output '%s' has bytes that are no UTF-8, which JSON has no form for; request it as a binary tensor, with 'binary_data'"
              .formatted(output.name()));
    }
  }

  private static ByteBuffer data(ResponseTensor output) {
    return output.data().duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }
}
