package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.weights.OpenWeights;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import org.jspecify.annotations.Nullable;

/** Host weights while they may be read: their files are opened when they are needed first. */
final class Reading implements AutoCloseable {
  private final HostWeights weights;
  private final @Nullable WeightSource given;
  private @Nullable OpenWeights opened;
  private long startedNanos;
  private boolean started;

  /**
   * @param given what is open already, borrowed; null to open the files again
   */
  Reading(HostWeights weights, @Nullable WeightSource given) {
    this.weights = weights;
    this.given = given;
  }

  /**
   * @throws BundleException when the files are gone or others
   */
  WeightSource source() {
    if (!started) {
      started = true;
      startedNanos = System.nanoTime();
    }
    if (given != null) {
      return given;
    }
    if (opened == null) {
      opened = open();
    }
    return opened;
  }

  private OpenWeights open() {
    WeightsOrigin origin = weights.origin();
    if (origin == null) {
      throw new IllegalStateException(
          "the weights of model '" + weights.model() + "' cannot be read again");
    }
    OpenWeights again = origin.open();
    if (!new HostWeightsLayout(again).types().equals(weights.types())) {
      again.close();
      throw new BundleException(
          weights.model(),
          "the weights have other types than those that were loaded; load it again");
    }
    return again;
  }

  /** Whether anything was read. */
  boolean wasStarted() {
    return started;
  }

  long nanos() {
    return System.nanoTime() - startedNanos;
  }

  @Override
  public void close() {
    if (opened != null) {
      opened.close();
    }
  }
}
