package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.MemoryHold;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Reads the elements of one tensor, a nested or flat array of JSON, into raw form: row-major,
 * little-endian, BYTES elements each with a 4-byte length. Nesting is not compared with the shape,
 * as in Triton; the number of elements must be the shape's. An element that its type does not hold
 * exactly as written is refused, but for the rounding of fractions.
 */
final class JsonElements {
  /** Largest array a JVM makes. */
  private static final int MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  /** Of JSON, at least: a digit and a comma. */
  private static final int NUMBER_BYTES = 2;

  /** Of JSON, at least: two quotes and a comma. */
  private static final int STRING_BYTES = 3;

  private static final int FIRST_STRING_BYTES = 1 << 10;

  /** Read at once; then others have a turn of the processor. */
  private static final int PIECE_ELEMENTS = 1 << 15;

  private final JsonParser json;
  private final MemoryHold memory;
  private final DType dtype;
  private final long count;
  private final String field;
  private final String place;
  private final CharsetEncoder utf8 = StandardCharsets.UTF_8.newEncoder();
  private ByteBuffer raw = ByteBuffer.allocate(0);
  private long index;

  private JsonElements(
      JsonParser json, MemoryHold memory, DType dtype, long count, String field, String place) {
    this.json = json;
    this.memory = memory;
    this.dtype = dtype;
    this.count = count;
    this.field = field;
    this.place = place;
  }

  /**
   * The elements in raw form, in memory taken from {@code memory}.
   *
   * @param json stands at the start of the array, and at its end afterwards
   * @param count of elements, as the shape says
   * @param available bytes of JSON from the start of the array on
   * @param field the property that it is the value of, for texts
   * @param place which input of which model, for texts
   */
  static ByteBuffer read(
      JsonParser json,
      MemoryHold memory,
      DType dtype,
      long count,
      long available,
      String field,
      String place) {
    JsonElements elements = new JsonElements(json, memory, dtype, count, field, place);
    elements.allocate(available);
    elements.readAll();
    return elements.raw.flip().asReadOnlyBuffer();
  }

  /** As {@link #read}, but of the one value at which {@code json} stands. */
  static ByteBuffer readOne(
      JsonParser json, MemoryHold memory, DType dtype, long available, String field, String place) {
    JsonElements elements = new JsonElements(json, memory, dtype, 1, field, place);
    elements.allocate(available);
    elements.put(json.currentToken());
    return elements.raw.flip().asReadOnlyBuffer();
  }

  private void allocate(long available) {
    if (dtype == DType.F16 || dtype == DType.BF16) {
      throw WireException.invalidArgument(
          "%s is %s, which JSON has no form for; send it as a binary tensor, with 'binary_data_size'"
              .formatted(place, datatype()));
    }
    boolean strings = dtype == DType.BYTES;
    if (count > available / (strings ? STRING_BYTES : NUMBER_BYTES) + 1) {
      throw mismatch("fewer");
    }
    long bytes = strings ? Math.min(available, FIRST_STRING_BYTES) : count * dtype.byteSize();
    if (bytes > MAX_ARRAY_BYTES) {
      throw tooLarge(bytes);
    }
    raw = allocate((int) bytes);
  }

  private ByteBuffer allocate(int bytes) {
    memory.take(bytes);
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void readAll() {
    int depth = 1;
    while (depth > 0) {
      JsonToken token = json.nextToken();
      if (token == JsonToken.START_ARRAY) {
        depth++;
      } else if (token == JsonToken.END_ARRAY) {
        depth--;
      } else {
        if (index == count) {
          throw mismatch("more");
        }
        put(token);
        index++;
        if (index % PIECE_ELEMENTS == 0) {
          Thread.yield();
        }
      }
    }
    if (index != count) {
      throw mismatch(Long.toString(index));
    }
  }

  private void put(JsonToken token) {
    switch (dtype) {
      case BOOL -> raw.put((byte) (bool(token) ? 1 : 0));
      case I8 -> raw.put((byte) whole(token, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case I16 -> raw.putShort((short) whole(token, Short.MIN_VALUE, Short.MAX_VALUE));
      case I32 -> raw.putInt((int) whole(token, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case I64 -> raw.putLong(whole(token, Long.MIN_VALUE, Long.MAX_VALUE));
      case U8 -> raw.put((byte) whole(token, 0, 0xFF));
      case U16 -> raw.putShort((short) whole(token, 0, 0xFFFF));
      case U32 -> raw.putInt((int) whole(token, 0, 0xFFFF_FFFFL));
      case U64 -> raw.putLong(unsigned(token));
      case F32 -> raw.putFloat(single(token));
      case F64 -> raw.putDouble(real(token));
      case BYTES -> string(token);
      case F16, BF16, F8_E5M2, F8_E4M3 -> throw new IllegalStateException("no JSON of " + dtype);
    }
  }

  private boolean bool(JsonToken token) {
    return switch (token) {
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      default -> throw wrong(token, "true or false");
    };
  }

  private long whole(JsonToken token, long least, long most) {
    if (token != JsonToken.VALUE_NUMBER_INT) {
      throw wrong(token, "a whole number");
    }
    if (json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
      throw outOfRange(Long.toString(least), Long.toString(most));
    }
    long value = json.getLongValue();
    if (value < least || value > most) {
      throw outOfRange(Long.toString(least), Long.toString(most));
    }
    return value;
  }

  private long unsigned(JsonToken token) {
    if (token != JsonToken.VALUE_NUMBER_INT) {
      throw wrong(token, "a whole number");
    }
    if (json.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
      long value = json.getLongValue();
      if (value >= 0) {
        return value;
      }
    } else {
      BigInteger value = json.getBigIntegerValue();
      if (value.signum() > 0 && value.bitLength() <= Long.SIZE) {
        return value.longValue();
      }
    }
    throw outOfRange("0", Long.toUnsignedString(-1));
  }

  private float single(JsonToken token) {
    requireNumber(token);
    float value = json.getFloatValue();
    if (Float.isInfinite(value)) {
      requireWritten(Float.MAX_VALUE);
    }
    return value;
  }

  private double real(JsonToken token) {
    requireNumber(token);
    double value = json.getDoubleValue();
    if (Double.isInfinite(value)) {
      requireWritten(Double.MAX_VALUE);
    }
    return value;
  }

  private void requireNumber(JsonToken token) {
    if (token != JsonToken.VALUE_NUMBER_FLOAT && token != JsonToken.VALUE_NUMBER_INT) {
      throw wrong(token, "a number");
    }
  }

  /** An infinity must have been written as one, not as a number that is too large. */
  private void requireWritten(double most) {
    if (Character.isDigit(json.getString().charAt(json.getString().startsWith("-") ? 1 : 0))) {
      throw outOfRange(Double.toString(-most), Double.toString(most));
    }
  }

  private void string(JsonToken token) {
    if (token != JsonToken.VALUE_STRING) {
      throw wrong(token, "a string");
    }
    CharBuffer characters =
        CharBuffer.wrap(json.getStringCharacters(), json.getStringOffset(), json.getStringLength());
    reserve(Integer.BYTES + (long) characters.length());
    int lengthAt = raw.position();
    raw.putInt(0);
    utf8.reset();
    while (true) {
      CoderResult result = utf8.encode(characters, raw, true);
      if (result.isUnderflow()) {
        break;
      }
      if (result.isError()) {
        throw WireException.invalidArgument(
            "element %d of %s has half of a surrogate pair; UTF-8 has no form for it"
                .formatted(index, place));
      }
      reserve(raw.remaining() + 1L + characters.length());
    }
    raw.putInt(lengthAt, raw.position() - lengthAt - Integer.BYTES);
  }

  /** Makes room for so many bytes more. */
  private void reserve(long bytes) {
    if (bytes <= raw.remaining()) {
      return;
    }
    long needed = raw.position() + bytes;
    if (needed > MAX_ARRAY_BYTES) {
      throw tooLarge(needed);
    }
    ByteBuffer full = raw;
    raw = allocate((int) Math.min(MAX_ARRAY_BYTES, Math.max(needed, 2L * full.capacity())));
    raw.put(full.flip());
    memory.giveBack(full.capacity());
  }

  private WireException tooLarge(long bytes) {
    return WireException.invalidArgument(
        "%s has %d bytes, the limit is %d; send fewer elements per request"
            .formatted(place, bytes, MAX_ARRAY_BYTES));
  }

  private WireException mismatch(String found) {
    return WireException.invalidArgument(
        "Unable to parse '%1$s': Shape does not match true shape of '%1$s' field: the shape of %2$s has %3$d elements and there are %4$s"
            .formatted(field, place, count, found));
  }

  private WireException wrong(JsonToken token, String expected) {
    String found =
        switch (token) {
          case VALUE_STRING -> "a string";
          case START_OBJECT -> "an object";
          default -> json.getString();
        };
    return WireException.invalidArgument(
        "Unable to parse '%s': element %d of %s is %s; %s takes %s"
            .formatted(field, index, place, found, datatype(), expected));
  }

  private WireException outOfRange(String least, String most) {
    return WireException.invalidArgument(
        "element %d of %s is %s, but %s holds %s to %s"
            .formatted(index, place, json.getString(), datatype(), least, most));
  }

  private String datatype() {
    return dtype.wireName();
  }
}
