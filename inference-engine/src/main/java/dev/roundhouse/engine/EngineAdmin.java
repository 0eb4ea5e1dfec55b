package dev.roundhouse.engine;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.dispatch.Compacted;
import dev.roundhouse.engine.hook.HookServer;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.CostStore;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelLoader;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.hooks.ModelHooks;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * Operator control of an engine: loads and unloads models, sets where their weights wait and their
 * share of the device. Thread-safe.
 */
public final class EngineAdmin {
  private final ModelRegistry registry;
  private final RequestPath requests;
  private final ModelLoader loader;
  private final ResidencyChanges residency;
  private final CostStore costs;
  private final HookServer hooks;

  EngineAdmin(
      ModelRegistry registry,
      RequestPath requests,
      ModelLoader loader,
      ResidencyChanges residency,
      CostStore costs,
      HookServer hooks) {
    this.registry = registry;
    this.requests = requests;
    this.loader = loader;
    this.residency = residency;
    this.costs = costs;
    this.hooks = hooks;
  }

  /**
   * Starts to load the newest version in a model's folder; see {@link #load(Path, VersionPolicy)}.
   */
  public CompletableFuture<ModelStatus> load(Path modelFolder) {
    return load(modelFolder, VersionPolicy.LATEST);
  }

  /**
   * Starts to load the versions that a policy selects from a model's folder, reloading those that
   * already serve. What serves under that name continues until the new version is ready, and stays
   * if any selected version fails. A new name is registered as loading when this returns.
   *
   * @return completes with the newest version, ready, or with one that failed and why; never
   *     exceptionally
   */
  public CompletableFuture<ModelStatus> load(Path modelFolder, VersionPolicy policy) {
    return loader.load(modelFolder, policy, false);
  }

  /** As {@link #load(Path, VersionPolicy)}, but versions whose files have not changed stay. */
  public CompletableFuture<ModelStatus> refresh(Path modelFolder, VersionPolicy policy) {
    return loader.load(modelFolder, policy, true);
  }

  /**
   * Starts to load a model that is already read, replacing the serving model of that version.
   *
   * @param image its weights are borrowed until the load has ended
   * @return completes with ready or failed; never exceptionally
   */
  public CompletableFuture<ModelStatus> load(ModelImage image) {
    return loader.load(image);
  }

  /**
   * As {@link #load(ModelImage)}, with hooks between callers and the programs.
   *
   * @param hooks opened by the load, and closed when the model is freed
   */
  public CompletableFuture<ModelStatus> load(ModelImage image, ModelHooks hooks) {
    return loader.load(image, this.hooks.of(hooks));
  }

  /** As {@link #load(ModelImage)}, for a model that answers by calling others. */
  CompletableFuture<ModelStatus> load(ComposedModel model) {
    return loader.load(model);
  }

  /**
   * Stops a name from answering. Accepted requests still run; then programs and weights are freed.
   *
   * @return completes when that is done, at once when there is nothing to free; exceptionally when
   *     the engine is closed first
   */
  public CompletableFuture<Void> unload(String name) {
    return loader.unload(name, "");
  }

  /** As {@link #unload(String)}, for one version of a name. */
  public CompletableFuture<Void> unload(String name, String version) {
    return loader.unload(name, version);
  }

  /**
   * Changes a ready model's share of the device from its next run on, for all its versions,
   * including those loaded later.
   *
   * @param weight relative to other models, above 0
   * @return false when no such model is ready, or too many changes are pending
   */
  public boolean setWeight(String name, double weight) {
    if (!(weight > 0 && weight < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "weight " + weight + " of model '" + name + "' is not a number above 0");
    }
    RegisteredModel model = registry.get(name);
    if (model == null || model.programs() == null) {
      return false;
    }
    boolean all = true;
    for (PublishedVersion version : model.versions().all()) {
      ProgramModel serving = version.programs();
      all &= serving == null || requests.setWeight(serving, weight);
    }
    if (all) {
      model.setWeight(weight);
    }
    return all;
  }

  /**
   * Sets where the weights of a ready model wait: pinned on the device, or in host memory or their
   * files, to be loaded on demand. Applies to all its versions, including those loaded later; for a
   * model that calls others, to all that it calls: pinned together or not at all, and no longer
   * pinned but where another that is pinned calls them too.
   *
   * @return completes when they are on the device, or may leave it; exceptionally, with a {@link
   *     dev.roundhouse.engine.device.DeviceException}, when they do not fit beside what is pinned
   *     or cannot be loaded; with {@link IllegalStateException} when no such model is ready;
   *     cancelled when the engine stops first
   */
  public CompletableFuture<Void> setResidency(String name, ServingDefaults.Residency wanted) {
    return residency.set(name, wanted);
  }

  /**
   * Evicts all weights that are neither pinned nor in use, to defragment device memory, and reloads
   * those of some models.
   *
   * @param reload model names, which stand for what they call, too; those not ready are skipped
   * @return completes when they are loaded; exceptionally when a model cannot be loaded; cancelled
   *     when the engine stops first
   */
  public CompletableFuture<Compacted> compact(List<String> reload) {
    List<ProgramModel> models =
        reload.stream()
            .distinct()
            .map(registry::get)
            .map(model -> model == null ? null : model.serving())
            .filter(Objects::nonNull)
            .flatMap(serving -> serving.needs().stream())
            .toList();
    return requests.dispatch().compact(models);
  }

  /**
   * Writes run costs to the engine's cost file, if it has one, for the next start. {@link
   * Engine#close} does so too; call this periodically to survive a crash. Blocks on the disk.
   */
  public void saveCosts() {
    costs.save(registry.slots().all());
  }

  /**
   * Runs held batches and stops holding: for a shutdown that should not wait for a delay to pass.
   */
  public void stopHolding() {
    requests.dispatch().stopHolding();
  }
}
