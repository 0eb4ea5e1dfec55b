package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.InferTensorContents;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The fields of typed contents, one for each family of datatypes, by their numbers from 1. */
enum ContentsField {
  BOOL(InferTensorContents.BOOL_CONTENTS_FIELD_NUMBER, "bool_contents"),
  INT(InferTensorContents.INT_CONTENTS_FIELD_NUMBER, "int_contents"),
  INT64(InferTensorContents.INT64_CONTENTS_FIELD_NUMBER, "int64_contents"),
  UINT(InferTensorContents.UINT_CONTENTS_FIELD_NUMBER, "uint_contents"),
  UINT64(InferTensorContents.UINT64_CONTENTS_FIELD_NUMBER, "uint64_contents"),
  FP32(InferTensorContents.FP32_CONTENTS_FIELD_NUMBER, "fp32_contents"),
  FP64(InferTensorContents.FP64_CONTENTS_FIELD_NUMBER, "fp64_contents"),
  BYTES(InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER, "bytes_contents");

  /** One more than the highest field number. */
  static final int NUMBERS = InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER + 1;

  private static final ContentsField[] ALL = values();

  private final int number;
  private final String fieldName;

  ContentsField(int number, String fieldName) {
    this.number = number;
    this.fieldName = fieldName;
  }

  int number() {
    return number;
  }

  String fieldName() {
    return fieldName;
  }

  /** The field of a number; null when it is another's. */
  static @Nullable ContentsField numbered(int number) {
    return number >= 1 && number <= ALL.length ? ALL[number - 1] : null;
  }

  /** Where elements of a type go; empty for types that travel raw only. */
  static Optional<ContentsField> of(DType dtype) {
    return switch (dtype) {
      case BOOL -> Optional.of(BOOL);
      case I8, I16, I32 -> Optional.of(INT);
      case I64 -> Optional.of(INT64);
      case U8, U16, U32 -> Optional.of(UINT);
      case U64 -> Optional.of(UINT64);
      case F32 -> Optional.of(FP32);
      case F64 -> Optional.of(FP64);
      case BYTES -> Optional.of(BYTES);
      case F16, BF16, F8_E5M2, F8_E4M3 -> Optional.empty();
    };
  }
}
