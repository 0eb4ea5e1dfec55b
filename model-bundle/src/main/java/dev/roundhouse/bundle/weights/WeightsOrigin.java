package dev.roundhouse.bundle.weights;

import java.util.Optional;

/** Where weights can be read again after their files were closed. Immutable; any thread. */
public interface WeightsOrigin {

  /**
   * Opens the files again. The caller closes the result.
   *
   * @throws dev.roundhouse.bundle.error.BundleException when they are gone, cut off or not those
   *     that were opened first; where a digest is known, only {@link WeightSource#verify} tells
   *     whether the content is still the same
   */
  OpenWeights open();

  /** The sha256 that the content must have, in hexadecimal; empty where the bundle says none. */
  Optional<String> sha256();

  /**
   * What identifies the file that {@link #open} would open now, for as long as it is not changed;
   * empty where nothing does.
   */
  default Optional<FileIdentity> identity() {
    return Optional.empty();
  }
}
