package dev.roundhouse.kserve.tstream;

import dev.roundhouse.bundle.tensor.DType;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Element types as numbers: those of {@code DataType} in Triton's model_config.proto. */
final class DtypeCode {
  private static final Map<DType, Integer> CODES = new EnumMap<>(DType.class);
  private static final @Nullable DType[] TYPES = new @Nullable DType[15];

  static {
    add(1, DType.BOOL);
    add(2, DType.U8);
    add(3, DType.U16);
    add(4, DType.U32);
    add(5, DType.U64);
    add(6, DType.I8);
    add(7, DType.I16);
    add(8, DType.I32);
    add(9, DType.I64);
    add(10, DType.F16);
    add(11, DType.F32);
    add(12, DType.F64);
    add(14, DType.BF16); // 13 is STRING
  }

  private DtypeCode() {}

  private static void add(int code, DType dtype) {
    CODES.put(dtype, code);
    TYPES[code] = dtype;
  }

  static boolean isKnown(DType dtype) {
    return CODES.containsKey(dtype);
  }

  static int of(DType dtype) {
    return Objects.requireNonNull(CODES.get(dtype));
  }

  static DType dtype(int code, String tensor) throws MalformedStreamException {
    DType dtype = code < TYPES.length ? TYPES[code] : null;
    if (dtype == null) {
      throw new MalformedStreamException(
          "tensor '%s' has dtype code %d, which is none; FP32 is 11".formatted(tensor, code));
    }
    return dtype;
  }
}
