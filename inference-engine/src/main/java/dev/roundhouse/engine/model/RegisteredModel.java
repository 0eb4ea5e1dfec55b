package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.Status;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A name: its versions, its counts, and the operator's settings since the start. It stays when its
 * last version is unloaded. Read by any thread; published by the registry.
 */
public final class RegisteredModel {
  private final String name;
  private final ModelTotals totals = new ModelTotals();
  private final AtomicReference<CompletableFuture<?>> latestChange =
      new AtomicReference<>(CompletableFuture.completedFuture(null));
  private volatile ModelVersions versions = ModelVersions.NONE;
  private volatile Optional<ServingDefaults.Residency> residency = Optional.empty();
  private volatile OptionalDouble weight = OptionalDouble.empty();

  RegisteredModel(String name) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  /** What there is of the name now. */
  public ModelVersions versions() {
    return versions;
  }

  /** The version that answers when none is asked for; null when none is ready. */
  public @Nullable Servable serving() {
    PublishedVersion head = versions.find("");
    return head == null ? null : head.serving();
  }

  /** The programs of {@link #serving}; null when it has none. */
  public @Nullable ProgramModel programs() {
    Servable serving = serving();
    return serving == null ? null : serving.inLane();
  }

  /** Of every version together, freed ones included. */
  public ModelTotals totals() {
    return totals;
  }

  public void countRefused(Status status) {
    totals.countRefused(status);
  }

  /** The weight it was given at run time; empty for the configured one. */
  public OptionalDouble weight() {
    return weight;
  }

  /** Keeps a weight, for versions to come as well. */
  public void setWeight(double value) {
    weight = OptionalDouble.of(value);
  }

  /** Where its weights wait by what was asked at run time; empty for the configured. */
  public Optional<ServingDefaults.Residency> residency() {
    return residency;
  }

  /** Whether that is on the device: of what calls others, all that it calls. */
  public boolean isPinned() {
    return residency.filter(ServingDefaults.Residency.PINNED_DEVICE::equals).isPresent();
  }

  /** Keeps where weights wait, for versions to come as well. */
  public void setResidency(Optional<ServingDefaults.Residency> value) {
    residency = value;
  }

  /** For the registry, which counts what changes. */
  void publish(ModelVersions changed) {
    versions = changed;
  }

  /**
   * Starts a change of the name's versions when the one before has ended: one at a time, in the
   * order in which they were asked for.
   *
   * @param change called once, on the thread that ended the change before, or on this one
   */
  <T> CompletableFuture<T> next(Supplier<CompletableFuture<T>> change) {
    CompletableFuture<T> done = new CompletableFuture<>();
    CompletableFuture<?> before = latestChange.getAndSet(done);
    var unused = before.whenComplete((result, failure) -> start(change, done));
    return done.copy(); // whoever cancels it does not end the change
  }

  /** Completes when the change has ended that was asked for last. */
  CompletableFuture<?> changed() {
    return latestChange.get();
  }

  private static <T> void start(Supplier<CompletableFuture<T>> change, CompletableFuture<T> done) {
    try {
      var unused =
          change
              .get()
              .whenComplete(
                  (result, failure) -> {
                    if (failure == null) {
                      done.complete(result);
                    } else {
                      done.completeExceptionally(failure);
                    }
                  });
    } catch (RuntimeException | Error e) {
      done.completeExceptionally(e);
    }
  }
}
