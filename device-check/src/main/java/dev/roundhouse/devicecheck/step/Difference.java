package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.embedded.Tensor;
import java.util.Locale;

/**
 * How far a tensor is from another: the largest |a - b| / (1 + |b|) of its elements.
 *
 * @param largest NaN when they cannot be compared, or one of them is not a number
 * @param allowed the largest that counts as right
 */
record Difference(double largest, double allowed, String output) {
  static final Difference NONE = new Difference(0, 0, "");

  static Difference of(String output, Tensor expected, Tensor got, String platform) {
    double allowed = allowed(expected.dtype(), platform);
    if (got.dtype() != expected.dtype()) {
      return new Difference(Double.NaN, allowed, output + " is of type " + got.dtype().token());
    }
    double largest = 0;
    for (long i = 0; i < expected.shape().elementCount(); i++) {
      double a = Elements.get(got, i);
      double b = Elements.get(expected, i);
      double difference = a == b ? 0 : Math.abs(a - b) / (1 + Math.abs(b));
      if (Double.isNaN(difference)) {
        return new Difference(Double.NaN, allowed, output + " has an element that is no number");
      }
      largest = Math.max(largest, difference);
    }
    return new Difference(largest, allowed, output);
  }

  boolean isRight() {
    return largest <= allowed; // false for NaN
  }

  /** Compared by how much of what is allowed they take. */
  boolean isWorseThan(Difference other) {
    return !isRight() || Double.compare(part(), other.part()) >= 0 && other.isRight();
  }

  private double part() {
    return largest == 0 ? 0 : largest / allowed;
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT, "largest difference %.2g of %.2g allowed, in %s", largest, allowed, output);
  }

  /**
   * Integers are exact. An accelerator may take f32 products in TF32, which has 10 bits of
   * fraction; on a CPU only the order of sums differs.
   */
  private static double allowed(DType dtype, String platform) {
    return switch (dtype) {
      case F64 -> 1e-12;
      case F32 -> platform.equals("cpu") ? 1e-5 : 2e-3;
      case F16 -> 2e-3;
      case BF16 -> 0x1p-6;
      case F8_E5M2, F8_E4M3 -> 0x1p-3;
      case I64, I32, I16, I8, U64, U32, U16, U8, BOOL, BYTES -> 0;
    };
  }
}
