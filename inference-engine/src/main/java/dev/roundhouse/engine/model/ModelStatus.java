package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import java.util.Optional;

/**
 * What can be said of a version of a model at one moment.
 *
 * @param version decimal; what responses carry
 * @param reason why it failed; of a ready version, why newer files of it do not serve; else empty
 * @param spec absent until the manifest has been read
 * @param maxBatchSize largest compiled batch size; 0 for a model without a batch axis
 * @param loadNanos how long it took from the start of loading to ready or failed; 0 while loading
 * @param starved it failed because the system gave no thread or process, which may pass
 */
public record ModelStatus(
    String name,
    String version,
    ModelState state,
    String reason,
    Optional<ModelSpec> spec,
    int maxBatchSize,
    long loadNanos,
    boolean starved) {

  /** How the reason of a version begins that served until its code did what it must not. */
  private static final String QUARANTINE = "in quarantine: ";

  public boolean isReady() {
    return state == ModelState.READY;
  }

  public static ModelStatus loading(String name, String version) {
    return new ModelStatus(name, version, ModelState.LOADING, "", Optional.empty(), 0, 0, false);
  }

  public ModelStatus failed(String reason, long loadNanos, boolean starved) {
    return new ModelStatus(
        name, version, ModelState.FAILED, reason, spec, maxBatchSize, loadNanos, starved);
  }

  /** A version that is built and calls what still loads. */
  ModelStatus awaiting(String reason) {
    return new ModelStatus(
        name, version, ModelState.LOADING, reason, spec, maxBatchSize, loadNanos, false);
  }

  /** A version that served, and does not until it is loaded again. */
  ModelStatus quarantined(String why) {
    return failed(QUARANTINE + why, loadNanos, false);
  }

  /** Of a failed version: what became of it, as the end of a sentence. */
  public String failure() {
    return (reason.startsWith(QUARANTINE) ? "it is " : "it failed to load: ") + reason;
  }

  public ModelStatus ready(ModelSpec spec, int maxBatchSize, long loadNanos) {
    return new ModelStatus(
        name, version, ModelState.READY, "", Optional.of(spec), maxBatchSize, loadNanos, false);
  }

  /** A ready version whose replacement could not be loaded. */
  public ModelStatus kept(String reason) {
    return new ModelStatus(
        name,
        version,
        state,
        "this version still serves; its newer files could not be loaded: " + reason,
        spec,
        maxBatchSize,
        loadNanos,
        starved);
  }

  public ModelStatus unloading() {
    return new ModelStatus(
        name, version, ModelState.UNLOADING, "", Optional.empty(), maxBatchSize, loadNanos, false);
  }

  public ModelStatus unloaded() {
    return new ModelStatus(
        name,
        version,
        ModelState.UNLOADED,
        "unloaded",
        Optional.empty(),
        maxBatchSize,
        loadNanos,
        false);
  }
}
