package dev.roundhouse.gateway.schedule;

import static dev.roundhouse.gateway.schedule.PolicyChange.refused;
import static dev.roundhouse.gateway.schedule.PolicyChange.text;

import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.ReplicaRouter;
import dev.roundhouse.gateway.route.RouteSettings;
import dev.roundhouse.kserve.control.proto.GetSchedulingStatusResponse;
import dev.roundhouse.kserve.control.proto.RepackRequest;
import dev.roundhouse.kserve.control.proto.RepackResponse;
import dev.roundhouse.kserve.control.proto.SetModelPlacementRequest;
import dev.roundhouse.kserve.control.proto.SetModelPlacementResponse;
import dev.roundhouse.kserve.control.proto.SetSchedulingPolicyRequest;
import dev.roundhouse.kserve.control.proto.SetSchedulingPolicyResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What operators may ask of the gateway's scheduling. Nothing of it outlives the gateway; failures
 * are {@link StatusRuntimeException}s. Thread-safe.
 */
public final class SchedulingControl {
  private static final double MOST_WAIT_SECONDS = 120;
  private static final long POLL_MILLIS = 50;
  private static final String INHERIT = "inherit";

  private final Placer placer;
  private final ModelRoutes routes;
  private final Runnable refresh;

  /**
   * @param refresh has the workers be looked at soon
   */
  public SchedulingControl(Placer placer, ModelRoutes routes, Runnable refresh) {
    this.placer = placer;
    this.routes = routes;
    this.refresh = refresh;
  }

  /** What holds, in every mode. */
  public GetSchedulingStatusResponse status() {
    return status(Integer.MAX_VALUE);
  }

  /**
   * What holds, in every mode.
   *
   * @param mostReplicas that are told of each model: ten thousand models on a thousand workers have
   *     ten million
   */
  public GetSchedulingStatusResponse status(int mostReplicas) {
    return StatusMessages.status(placer.mode(), placer.state(), routes, mostReplicas);
  }

  public SetSchedulingPolicyResponse setPolicy(SetSchedulingPolicyRequest request) {
    requirePacking();
    synchronized (placer) {
      placer.set(
          PolicyChange.of(
              placer.state().policy(), request.getUpdateMaskList(), request.getPolicy()));
      Placer.State state = placer.state();
      return SetSchedulingPolicyResponse.newBuilder()
          .setApplied(StatusMessages.policy(state.policy(), state.generation()))
          .addAllWarnings(warnings(state))
          .build();
    }
  }

  public SetModelPlacementResponse setModel(SetModelPlacementRequest request) {
    requirePacking();
    String name = request.getName();
    if (name.isBlank()) {
      throw refused("the name of the model is empty; send one");
    }
    synchronized (placer) {
      Placer.State before = placer.state();
      @Nullable ModelKnown model = before.models().get(name);
      if (model == null && !request.getAllowUnknownModel()) {
        throw Status.NOT_FOUND
            .withDescription("Request for unknown model: '%s' is not found".formatted(name))
            .asRuntimeException();
      }
      ModelPolicy own = before.policies().getOrDefault(name, ModelPolicy.NONE);
      placer.set(
          name,
          new ModelPolicy(
              replicas(request.getReplicas()),
              fillMode(request.getFillMode(), own.fillMode()),
              fillFactor(request.getFillFactor(), own.fillFactor())));
      return answer(name, model, placer.state());
    }
  }

  private static int replicas(long wanted) {
    if (wanted < -1 || wanted > Integer.MAX_VALUE) {
      throw refused(
          "replicas is %d; it is a number from 1, -1 for all workers, 0 for the default"
              .formatted(wanted));
    }
    return (int) wanted;
  }

  private static @Nullable FillMode fillMode(String wanted, @Nullable FillMode now) {
    return switch (wanted) {
      case "" -> now;
      case INHERIT -> null;
      default -> PolicyChange.named("fill_mode", wanted, FillMode.values());
    };
  }

  private static double fillFactor(double wanted, double now) {
    if (!Double.isFinite(wanted)) {
      throw refused("fill_factor is %s; it is a number".formatted(wanted));
    }
    return wanted < 0 ? now : wanted;
  }

  private SetModelPlacementResponse answer(
      String name, @Nullable ModelKnown model, Placer.State state) {
    RouteSettings.Fill fill = routes.settings().fill(name);
    long maxBatch = model == null ? 0 : model.maxBatch();
    int configured = state.policies().getOrDefault(name, ModelPolicy.NONE).replicas();
    long ready = state.looks().stream().filter(look -> look.ready()).count();
    int wanted = configured == 0 ? state.policy().defaultReplicas() : configured;
    long effective = wanted == -1 ? ready : Math.min(wanted, ready);
    List<String> warnings = new ArrayList<>(warnings(state));
    if (wanted > ready) {
      warnings.add("%d replicas are wanted and %d workers are ready".formatted(wanted, ready));
    }
    if (model == null) {
      warnings.add("no worker has a model '%s' now".formatted(name));
    }
    return SetModelPlacementResponse.newBuilder()
        .setName(name)
        .setConfiguredReplicas(configured)
        .setEffectiveReplicas(effective)
        .setFillMode(text(fill.mode()))
        .setFillQuantum(ReplicaRouter.quantum(fill.factor(), maxBatch))
        .addAllWarnings(warnings)
        .build();
  }

  private static List<String> warnings(Placer.State state) {
    List<String> warnings = new ArrayList<>(StatusMessages.warnings(state));
    if (state.policy().fillMode() == FillMode.INFLIGHT) {
      warnings.add("routing_fill_mode inflight may leave replicas without any request");
    }
    return warnings;
  }

  /** Answers when models have been placed anew, or the caller has waited for long enough. */
  public CompletableFuture<RepackResponse> repack(RepackRequest request) {
    requirePacking();
    double wait = request.getWaitSeconds();
    if (!(wait >= 0)) {
      throw refused("wait_seconds is %s; it is 0 or more".formatted(wait));
    }
    long began = System.nanoTime();
    long until = began + (long) (Math.min(wait, MOST_WAIT_SECONDS) * 1e9);
    long sequence = placer.requestRepack();
    refresh.run();
    CompletableFuture<RepackResponse> answer = new CompletableFuture<>();
    poll(sequence, began, until, answer);
    return answer;
  }

  private void poll(
      long sequence, long began, long until, CompletableFuture<RepackResponse> answer) {
    long completed = placer.completedRepacks();
    long now = System.nanoTime();
    if (completed >= sequence || now - until >= 0) {
      Placer.State state = placer.state();
      answer.complete(
          RepackResponse.newBuilder()
              .setSequence(sequence)
              .setCompletedSequence(completed)
              .setCompleted(completed >= sequence)
              .setWaitedSeconds((now - began) / 1e9)
              .setRepack(StatusMessages.repack(state))
              .addAllWarnings(warnings(state))
              .build());
      return;
    }
    Executor later = CompletableFuture.delayedExecutor(POLL_MILLIS, TimeUnit.MILLISECONDS);
    later.execute(() -> poll(sequence, began, until, answer));
  }

  private void requirePacking() {
    if (placer.mode() != Mode.LPT_PACKING) {
      throw Status.FAILED_PRECONDITION
          .withDescription(
              "models are placed in scheduling.mode lpt_packing only; it is " + text(placer.mode()))
          .asRuntimeException();
    }
  }
}
