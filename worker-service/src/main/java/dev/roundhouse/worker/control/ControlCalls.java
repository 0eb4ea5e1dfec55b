package dev.roundhouse.worker.control;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.CompactMemoryResponse;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.Residency;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyResponse;
import dev.roundhouse.kserve.control.proto.SetModelResidencyRequest;
import dev.roundhouse.kserve.control.proto.SetModelResidencyResponse;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.worker.config.ModelProperties;
import dev.roundhouse.worker.config.ResidencyProperties;
import dev.roundhouse.worker.transport.grpc.UnaryAnswer;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.IntSupplier;

/**
 * What an operator can ask of a worker: every change is written to the audit log with what was
 * before. Each is answered when it is so, by the dispatch thread; failures are {@link
 * WireException}s. Thread-safe.
 */
public final class ControlCalls {
  private static final double LEAST_WEIGHT = Double.parseDouble(ModelProperties.LEAST_WEIGHT);
  private static final double MOST_WEIGHT = Double.parseDouble(ModelProperties.MOST_WEIGHT);

  private final Engine engine;
  private final ResidencyProperties.Mode mode;
  private final IntSupplier streamPort;

  /**
   * @param streamPort where tensor streams are taken; 0 where they are not
   */
  public ControlCalls(Engine engine, ResidencyProperties.Mode mode, IntSupplier streamPort) {
    this.engine = engine;
    this.mode = mode;
    this.streamPort = streamPort;
  }

  CompletableFuture<ModelControlStatusResponse> status() {
    return asked(engine.reports().scheduler())
        .thenApply(scheduler -> ControlStatus.of(engine, mode, scheduler, streamPort.getAsInt()));
  }

  CompletableFuture<SetModelResidencyResponse> setResidency(SetModelResidencyRequest request) {
    String name = requireReady(request.getName());
    Residency target = request.getTarget();
    ServingDefaults.Residency wanted =
        switch (target) {
          case PINNED_DEVICE -> ServingDefaults.Residency.PINNED_DEVICE;
          case PINNED_SYSTEM -> ServingDefaults.Residency.PINNED_SYSTEM;
          case UNPINNED -> ServingDefaults.Residency.UNPINNED;
          case RESIDENCY_UNSPECIFIED, UNRECOGNIZED ->
              throw WireException.invalidArgument(
                  "target %d of model '%s' is no residency; send UNPINNED (1), PINNED_SYSTEM (2) or PINNED_DEVICE (3)"
                      .formatted(request.getTargetValue(), name));
        };
    Caller caller = Caller.current();
    Optional<ModelReport> before = engine.reports().details(name);
    CompletableFuture<SchedulerReport> scheduler = engine.reports().scheduler();
    return asked(engine.admin().setResidency(name, wanted))
        .thenApply(
            done -> {
              Audit.changed(
                  caller,
                  "residency of model '%s'".formatted(name),
                  ControlStatus.residency(before, scheduler),
                  target);
              return SetModelResidencyResponse.newBuilder().setResidency(target).build();
            });
  }

  CompletableFuture<SetModelPolicyResponse> setPolicy(SetModelPolicyRequest request) {
    String name = requireReady(request.getName());
    if (request.getHasWeight()) {
      double weight = request.getWeight();
      if (!(weight >= LEAST_WEIGHT && weight <= MOST_WEIGHT)) {
        throw WireException.invalidArgument(
            "weight %s of model '%s' is not a number from %s to %s"
                .formatted(
                    weight, name, ModelProperties.LEAST_WEIGHT, ModelProperties.MOST_WEIGHT));
      }
      requireWeight(name);
      if (!engine.admin().setWeight(name, weight)) {
        throw new WireException(
            WireStatus.UNAVAILABLE,
            "model '%s' keeps its weight: the dispatch thread has no room; retry".formatted(name));
      }
      Audit.record("weight of model '%s' set to %s".formatted(name, weight));
    }
    return CompletableFuture.completedFuture(SetModelPolicyResponse.getDefaultInstance());
  }

  CompletableFuture<CompactMemoryResponse> compact(CompactMemoryRequest request) {
    List<String> reload = request.getReloadModelsList();
    if (mode == ResidencyProperties.Mode.EXTERNALLY_MANAGED && !reload.isEmpty()) {
      throw new WireException(
          WireStatus.FAILED_PRECONDITION,
          "reload_models names %d models, and this server brings only what SetModelResidency asks for, as roundhouse.worker.residency.mode is externally-managed; send no names, and pin them"
              .formatted(reload.size()));
    }
    reload.forEach(this::requireReady);
    Caller caller = Caller.current();
    return asked(engine.admin().compact(reload))
        .thenApply(
            compacted -> {
              Audit.record(
                  caller,
                  "device memory compacted, %d models brought back, %d bytes of weights there"
                      .formatted(compacted.reloaded(), compacted.residentBytes()));
              return CompactMemoryResponse.newBuilder()
                  .setReloadedModels(compacted.reloaded())
                  .setResidentBytesAfter(compacted.residentBytes())
                  .build();
            });
  }

  private void requireWeight(String name) {
    if (engine.model(name).flatMap(ModelStatus::spec).filter(ControlCalls::hasNoLane).isPresent()) {
      throw new WireException(
          WireStatus.FAILED_PRECONDITION,
          "model '%s' waits in no queue and has no weight: what it calls has; set those"
              .formatted(name));
    }
  }

  private static boolean hasNoLane(ModelSpec spec) {
    return spec.kind() != ModelSpec.Kind.MODEL;
  }

  private String requireReady(String name) {
    if (name.isBlank()) {
      throw WireException.invalidArgument("the name of the model is empty; send one");
    }
    ModelStatus model =
        engine
            .model(name)
            .orElseThrow(
                () ->
                    new WireException(
                        WireStatus.NOT_FOUND,
                        "Request for unknown model: '%s' is not found".formatted(name)));
    if (!model.isReady()) {
      throw new WireException(
          WireStatus.FAILED_PRECONDITION,
          "model '%s' is %s and only a ready one can be steered"
              .formatted(name, model.state().name().toLowerCase(Locale.ROOT)));
    }
    return name;
  }

  /** What the dispatch thread says, in the protocol's words when it is no. */
  private static <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
    return answer.exceptionally(
        failure -> {
          Throwable cause = UnaryAnswer.cause(failure);
          String text = String.valueOf(cause.getMessage());
          throw switch (cause) {
            case DeviceException device ->
                new WireException(
                    device.code() == DeviceException.Code.OUT_OF_MEMORY
                        ? WireStatus.RESOURCE_EXHAUSTED
                        : WireStatus.UNAVAILABLE,
                    text);
            case CancellationException stopped ->
                new WireException(
                    WireStatus.UNAVAILABLE,
                    "the dispatch thread takes no commands: it stops, or too many wait; retry");
            case IllegalStateException gone ->
                new WireException(WireStatus.FAILED_PRECONDITION, text);
            default -> new CompletionException(cause);
          };
        });
  }
}
