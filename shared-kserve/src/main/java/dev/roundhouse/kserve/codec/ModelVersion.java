package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.status.WireException;

/** The version field of a request. */
public final class ModelVersion {
  private ModelVersion() {}

  /**
   * Reads what a caller wrote, as leniently as Triton does: {@code 01} and {@code " 1"} are 1.
   *
   * @return a decimal number above 0 without leading zeros, or empty when {@code text} is
   * @throws WireException INVALID_ARGUMENT for anything else
   */
  public static String parse(String text) {
    if (text.isEmpty()) {
      return text;
    }
    try {
      long version = Long.parseLong(text.strip());
      if (version > 0) {
        return Long.toString(version);
      }
    } catch (NumberFormatException e) {
      // answered below
    }
    throw WireException.invalidArgument(
        "failed to get model version from specified version string '"
            + text
            + "': versions are decimal numbers above 0; leave it empty for the one that is served");
  }
}
