package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Reads one tensor's entry: {@code {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}. */
final class TensorEntryReader {
  private static final int MAX_RANK = 64;

  private final JsonParser json;
  private final String file;
  private final String name;
  private @Nullable DType dtype;
  private long @Nullable [] shape;
  private long @Nullable [] offsets;

  TensorEntryReader(JsonParser json, String file, String name) {
    this.json = json;
    this.file = file;
    this.name = name;
  }

  FileTensor read() {
    if (json.currentToken() != JsonToken.START_OBJECT) {
      throw refused("entry is not an object with dtype, shape and data_offsets");
    }
    while (json.nextToken() == JsonToken.PROPERTY_NAME) {
      String key = json.currentName();
      json.nextToken();
      switch (key) {
        case "dtype" -> dtype = dtype();
        case "shape" -> shape = numbers(key, MAX_RANK);
        case "data_offsets" -> offsets = numbers(key, 2);
        default -> throw refused("has unknown key '" + key + "'");
      }
    }
    if (dtype == null || shape == null || offsets == null) {
      throw refused(
          "lacks " + (dtype == null ? "dtype" : shape == null ? "shape" : "data_offsets"));
    }
    if (offsets.length != 2 || offsets[1] < offsets[0]) {
      throw refused(
          "data_offsets " + Arrays.toString(offsets) + " is not a [begin, end] with begin <= end");
    }
    TensorType type = new TensorType(dtype, Shape.of(shape));
    checkSize(type, offsets[1] - offsets[0]);
    return new FileTensor(name, type, offsets[0], offsets[1]);
  }

  private void checkSize(TensorType type, long bytes) {
    long expected;
    try {
      expected = type.byteSize();
    } catch (ArithmeticException _) {
      throw refused("shape " + type.shape() + " of " + type.dtype() + " overflows 63 bits");
    }
    if (bytes != expected) {
      throw refused("data_offsets cover " + bytes + " bytes, but " + type + " needs " + expected);
    }
  }

  private DType dtype() {
    if (json.currentToken() != JsonToken.VALUE_STRING) {
      throw refused("dtype is not a string");
    }
    String text = json.getString();
    // safetensors spells the manifest's tokens in capitals.
    return DType.fromToken(text.toLowerCase(Locale.ROOT))
        .filter(found -> found.fixedSize() && found.token().toUpperCase(Locale.ROOT).equals(text))
        .orElseThrow(
            () ->
                refused(
                    "dtype '"
                        + text
                        + "' is not served; known are F64 F32 F16 BF16 F8_E5M2"
                        + " F8_E4M3 I64 I32 I16 I8 U64 U32 U16 U8 BOOL"));
  }

  private long[] numbers(String key, int limit) {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      throw refused(key + " is not a list of numbers");
    }
    long[] numbers = new long[limit];
    int count = 0;
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (count == limit) {
        throw refused(key + " has more than " + limit + " numbers");
      }
      String text = String.valueOf(json.getString());
      if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
        throw refused(key + " holds '" + text + "', which is not a whole number");
      }
      numbers[count++] = number(key, text);
    }
    return Arrays.copyOf(numbers, count);
  }

  private long number(String key, String text) {
    try {
      long number = Long.parseLong(text);
      if (number < 0) {
        throw refused(key + " holds " + text + ", which is negative");
      }
      return number;
    } catch (NumberFormatException _) {
      throw refused(key + " holds " + text + ", which does not fit in 63 bits");
    }
  }

  private BundleException refused(String reason) {
    return new BundleException(file, "tensor '" + name + "': " + reason);
  }
}
