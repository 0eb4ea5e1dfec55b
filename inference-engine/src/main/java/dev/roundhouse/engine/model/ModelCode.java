package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.model.ModelSpec;
import java.util.function.BiConsumer;

/** Makes what stands between callers and a bundle's programs: its author's code. Thread-safe. */
public interface ModelCode {

  /**
   * Reads and compiles the code of a bundle that has some, before its programs are.
   *
   * @throws dev.roundhouse.bundle.error.BundleException when it is refused, and why
   */
  Read read(Bundle bundle, String version);

  /**
   * Makes a model of a bundle whose code answers by calling others.
   *
   * @param fingerprint of its files
   * @param misbehaved as of {@link Read#attach}
   * @throws dev.roundhouse.bundle.error.BundleException when it is refused or does not start
   */
  ComposedModel meta(
      Bundle bundle,
      String version,
      String fingerprint,
      BiConsumer<ComposedModel, String> misbehaved);

  /** Code that has been read; nothing of it has run. */
  @FunctionalInterface
  interface Read {

    /**
     * Begins to run it.
     *
     * @param spec as callers see it
     * @param programs run for it alone; the caller frees them, after the result
     * @param misbehaved is to be told when the result must not serve any more, and why
     * @throws dev.roundhouse.bundle.error.BundleException when it does not start
     */
    ComposedModel attach(
        ModelSpec spec, ProgramModel programs, BiConsumer<ComposedModel, String> misbehaved);
  }
}
