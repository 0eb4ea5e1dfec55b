package dev.roundhouse.bundle.artifact;

import java.util.Optional;

/** Limits how much calls may multiply a module: XLA inlines every call first. */
final class InlinedSize {
  /** On top of the written operations; XLA takes minutes and gigabytes for a few times as many. */
  static final long MOST_ADDED = 250_000;

  private InlinedSize() {}

  /** Why a module without recursion is refused; empty when it is not. */
  static Optional<String> refusal(CallGraph calls) {
    long inlined = calls.inlined("main");
    long written = calls.written();
    if (inlined - written <= MOST_ADDED) {
      return Optional.empty();
    }
    return Optional.of(
        "its %d operations become %s when each call is replaced by what it calls, as XLA does it, and the limit is %d more than are written; call less often what calls others, or use a loop"
            .formatted(
                written,
                inlined == Long.MAX_VALUE ? "more than " + inlined : Long.toString(inlined),
                MOST_ADDED));
  }
}
