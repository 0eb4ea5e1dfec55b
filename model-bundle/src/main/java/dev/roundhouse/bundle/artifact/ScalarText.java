package dev.roundhouse.bundle.artifact;

import java.util.Optional;

/** One number as MLIR writes it in {@code dense<...>}. */
final class ScalarText {
  private ScalarText() {}

  /**
   * @param element StableHLO's name of its type, of which a value in hexadecimal has the bits
   * @return empty for what is no number
   */
  static Optional<Double> read(String value, String element) {
    if (value.equals("true") || value.equals("false")) {
      return Optional.of(value.equals("true") ? 1.0 : 0.0);
    }
    try {
      if (!value.startsWith("0x")) {
        return Optional.of(Double.parseDouble(value));
      }
      long bits = Long.parseUnsignedLong(value.substring(2), 16);
      return switch (element) {
        case "f64" -> Optional.of(Double.longBitsToDouble(bits));
        case "f32" -> Optional.of((double) Float.intBitsToFloat((int) bits));
        case "bf16" -> Optional.of((double) Float.intBitsToFloat((int) bits << 16));
        case "f16" -> Optional.of((double) Float.float16ToFloat((short) bits));
        default -> Optional.empty();
      };
    } catch (NumberFormatException none) {
      return Optional.empty();
    }
  }
}
