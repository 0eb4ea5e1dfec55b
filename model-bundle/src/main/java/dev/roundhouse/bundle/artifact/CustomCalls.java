package dev.roundhouse.bundle.artifact;

import java.util.Optional;
import java.util.Set;

/**
 * Which code outside a module its {@code custom_call}s may name. A target that is not known here is
 * refused: XLA checks little of what such code is given, and ends the process where it is wrong.
 */
final class CustomCalls {
  /** Take the largest k of n, and read beyond their input when k is more than n. */
  private static final Set<String> TOP_K = Set.of("TopK", "ApproxTopK", "mhlo.topk", "chlo.top_k");

  /** Operations that StableHLO has no name for, which XLA turns back, and hints on placement. */
  private static final Set<String> HARMLESS =
      Set.of(
          "mhlo.acos",
          "mhlo.acosh",
          "mhlo.asin",
          "mhlo.asinh",
          "mhlo.atanh",
          "mhlo.cosh",
          "mhlo.erf",
          "mhlo.sinh",
          "mhlo.tan",
          "Sharding",
          "SPMDFullToShardShape",
          "SPMDShardToFullShape");

  private CustomCalls() {}

  static boolean isTopK(String target) {
    return TOP_K.contains(target);
  }

  /** Why a target is refused; empty for one that is known. */
  static Optional<String> refusal(String target) {
    return TOP_K.contains(target) || HARMLESS.contains(target)
        ? Optional.empty()
        : Optional.of(
            "custom_call of '%s', which is not among what is served (%s); write it in StableHLO's own operations, or export the model without it"
                .formatted(shown(target), served()));
  }

  /**
   * Why a top-k is refused, by its types; empty when it is sound.
   *
   * @param taken the largest extent of what it returns along the last dimension
   * @param given of what it takes
   */
  static Optional<String> topKRefusal(String target, long taken, long given) {
    return taken <= given
        ? Optional.empty()
        : Optional.of(
            "%s takes the largest %d of %d: XLA reads beyond its input; ask for %d at most"
                .formatted(shown(target), taken, given, given));
  }

  /** Of a top-k whose types do not say how much it takes of how much. */
  static String unclearTopK(String target) {
    return shown(target)
        + " does not say by its types how many it takes of how many; give it tensors of fixed shape";
  }

  private static String shown(String target) {
    return target.length() <= 80 ? target : target.substring(0, 80) + "...";
  }

  private static String served() {
    return "TopK, ApproxTopK, Sharding, mhlo.erf and the like";
  }
}
