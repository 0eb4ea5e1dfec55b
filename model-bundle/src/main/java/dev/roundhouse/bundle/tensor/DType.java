package dev.roundhouse.bundle.tensor;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Element type of a tensor, with its three names: in a manifest, on the KServe wire, in StableHLO.
 */
public enum DType {
  F64("f64", "FP64", "f64", 8),
  F32("f32", "FP32", "f32", 4),
  F16("f16", "FP16", "f16", 2),
  BF16("bf16", "BF16", "bf16", 2),
  /** Inside a model only: the wire has no name for it. */
  F8_E5M2("f8_e5m2", null, "f8E5M2", 1),
  /** The E4M3FN encoding (finite, no infinities). Inside a model only. */
  F8_E4M3("f8_e4m3", null, "f8E4M3FN", 1),
  I64("i64", "INT64", "i64", 8),
  I32("i32", "INT32", "i32", 4),
  I16("i16", "INT16", "i16", 2),
  I8("i8", "INT8", "i8", 1),
  U64("u64", "UINT64", "ui64", 8),
  U32("u32", "UINT32", "ui32", 4),
  U16("u16", "UINT16", "ui16", 2),
  U8("u8", "UINT8", "ui8", 1),
  /** One byte per element, 0 or 1. */
  BOOL("bool", "BOOL", "i1", 1),
  /**
   * Strings of any length; only in client contracts of bundles with hooks, never on a device. In
   * memory as {@link BytesLayout} says.
   */
  BYTES("bytes", "BYTES", null, 0);

  private static final Map<String, DType> BY_TOKEN = new HashMap<>();
  private static final Map<String, DType> BY_KSERVE_NAME = new HashMap<>();
  private static final Map<String, DType> BY_STABLEHLO_NAME = new HashMap<>();

  static {
    for (DType dtype : values()) {
      BY_TOKEN.put(dtype.token, dtype);
      if (dtype.kserveName != null) {
        BY_KSERVE_NAME.put(dtype.kserveName, dtype);
      }
      if (dtype.stablehloName != null) {
        BY_STABLEHLO_NAME.put(dtype.stablehloName, dtype);
      }
    }
  }

  private final String token;
  private final @Nullable String kserveName;
  private final @Nullable String stablehloName;
  private final int byteSize;

  DType(String token, @Nullable String kserveName, @Nullable String stablehloName, int byteSize) {
    this.token = token;
    this.kserveName = kserveName;
    this.stablehloName = stablehloName;
    this.byteSize = byteSize;
  }

  /** The manifest's word for it, such as {@code f32}. */
  public String token() {
    return token;
  }

  /** The wire's word for it, such as {@code FP32}; empty for types that never leave the device. */
  public Optional<String> kserveName() {
    return Optional.ofNullable(kserveName);
  }

  /** The wire's word for it; the manifest's for a type that the wire has no word for. */
  public String wireName() {
    return kserveName == null ? token : kserveName;
  }

  /** Bytes per element; 0 for {@link #BYTES}, whose elements have no fixed size. */
  public int byteSize() {
    return byteSize;
  }

  /** True when elements have a fixed size, so that a shape fixes the number of bytes. */
  public boolean fixedSize() {
    return byteSize > 0;
  }

  public static Optional<DType> fromToken(String token) {
    return Optional.ofNullable(BY_TOKEN.get(token));
  }

  public static Optional<DType> fromKserveName(String name) {
    return Optional.ofNullable(BY_KSERVE_NAME.get(name));
  }

  /** Looks up an element type as StableHLO text spells it, such as {@code ui8} or {@code i1}. */
  public static Optional<DType> fromStablehloName(String name) {
    return Optional.ofNullable(BY_STABLEHLO_NAME.get(name));
  }

  @Override
  public String toString() {
    return token;
  }
}
