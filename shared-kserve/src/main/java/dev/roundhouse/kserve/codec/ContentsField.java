package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.InferTensorContents;
import java.util.Optional;
import java.util.function.ToIntFunction;

/** The fields of typed contents, one for each family of datatypes. */
enum ContentsField {
  BOOL("bool_contents", InferTensorContents::getBoolContentsCount),
  INT("int_contents", InferTensorContents::getIntContentsCount),
  INT64("int64_contents", InferTensorContents::getInt64ContentsCount),
  UINT("uint_contents", InferTensorContents::getUintContentsCount),
  UINT64("uint64_contents", InferTensorContents::getUint64ContentsCount),
  FP32("fp32_contents", InferTensorContents::getFp32ContentsCount),
  FP64("fp64_contents", InferTensorContents::getFp64ContentsCount),
  BYTES("bytes_contents", InferTensorContents::getBytesContentsCount);

  private static final ContentsField[] ALL = values();

  private final String fieldName;
  private final ToIntFunction<InferTensorContents> counter;

  ContentsField(String fieldName, ToIntFunction<InferTensorContents> counter) {
    this.fieldName = fieldName;
    this.counter = counter;
  }

  String fieldName() {
    return fieldName;
  }

  int count(InferTensorContents contents) {
    return counter.applyAsInt(contents);
  }

  /** Any field other than {@code expected} that holds elements. */
  static Optional<ContentsField> otherThan(ContentsField expected, InferTensorContents contents) {
    for (ContentsField field : ALL) {
      if (field != expected && field.count(contents) > 0) {
        return Optional.of(field);
      }
    }
    return Optional.empty();
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
