package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.DType;
import java.util.Optional;

/**
 * The two numberings of element types: the C API's PJRT_Buffer_Type and xla.PrimitiveType, which an
 * HLO module uses.
 */
enum ElementType {
  BOOL(DType.BOOL, 1, 1),
  I8(DType.I8, 2, 2),
  I16(DType.I16, 3, 3),
  I32(DType.I32, 4, 4),
  I64(DType.I64, 5, 5),
  U8(DType.U8, 6, 6),
  U16(DType.U16, 7, 7),
  U32(DType.U32, 8, 8),
  U64(DType.U64, 9, 9),
  F16(DType.F16, 10, 10),
  F32(DType.F32, 11, 11),
  F64(DType.F64, 12, 12),
  BF16(DType.BF16, 13, 16),
  F8_E5M2(DType.F8_E5M2, 16, 19),
  F8_E4M3(DType.F8_E4M3, 17, 20);

  private final DType dtype;
  private final int bufferType;
  private final int primitiveType;

  ElementType(DType dtype, int bufferType, int primitiveType) {
    this.dtype = dtype;
    this.bufferType = bufferType;
    this.primitiveType = primitiveType;
  }

  DType dtype() {
    return dtype;
  }

  int bufferType() {
    return bufferType;
  }

  /** Empty for {@link DType#BYTES}, which no device has. */
  static Optional<ElementType> of(DType dtype) {
    for (ElementType type : values()) {
      if (type.dtype == dtype) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }

  static Optional<ElementType> fromBufferType(int bufferType) {
    for (ElementType type : values()) {
      if (type.bufferType == bufferType) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }

  static Optional<ElementType> fromPrimitiveType(int primitiveType) {
    for (ElementType type : values()) {
      if (type.primitiveType == primitiveType) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }
}
