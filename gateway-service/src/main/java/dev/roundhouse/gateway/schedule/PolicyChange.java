package dev.roundhouse.gateway.schedule;

import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.route.OpeningPolicy;
import dev.roundhouse.gateway.route.WorkBasis;
import dev.roundhouse.kserve.control.proto.SchedulingPolicy;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** A policy with some parts changed by an operator: all that are named, or none. For one thread. */
final class PolicyChange {
  private static final List<String> PARTS =
      List.of(
          "rebalance_compute_seconds",
          "first_rebalance_compute_seconds",
          "hysteresis",
          "ema_halflife_compute_seconds",
          "default_replicas",
          "routing_policy",
          "routing_fill_factor",
          "routing_fill_mode",
          "compaction_mode",
          "compaction_interval",
          "forbid_memory_oversubscription",
          "work_basis");

  /** What is decided when the gateway starts. */
  private static final List<String> AT_START =
      List.of("mode", "max_worker_share", "endpoints", "listen");

  private double rebalanceSeconds;
  private double firstRebalanceSeconds;
  private double hysteresis;
  private double halfLifeSeconds;
  private int defaultReplicas;
  private OpeningPolicy opening;
  private double fillFactor;
  private FillMode fillMode;
  private CompactionMode compaction;
  private int compactionInterval;
  private boolean forbidOversubscription;
  private WorkBasis basis;

  private PolicyChange(Policy before) {
    rebalanceSeconds = before.rebalanceSeconds();
    firstRebalanceSeconds = before.firstRebalanceSeconds();
    hysteresis = before.hysteresis();
    halfLifeSeconds = before.halfLifeSeconds();
    defaultReplicas = before.defaultReplicas();
    opening = before.opening();
    fillFactor = before.fillFactor();
    fillMode = before.fillMode();
    compaction = before.compaction();
    compactionInterval = before.compactionInterval();
    forbidOversubscription = before.forbidOversubscription();
    basis = before.basis();
  }

  /**
   * @param names parts to change
   * @throws StatusRuntimeException INVALID_ARGUMENT naming what cannot be changed, or its value
   */
  static Policy of(Policy before, List<String> names, SchedulingPolicy wanted) {
    if (names.isEmpty()) {
      throw refused("update_mask is empty; it names what is to be changed, of " + PARTS);
    }
    PolicyChange change = new PolicyChange(before);
    names.forEach(name -> change.set(name, wanted));
    return new Policy(
        change.rebalanceSeconds,
        change.firstRebalanceSeconds,
        change.hysteresis,
        change.halfLifeSeconds,
        change.defaultReplicas,
        change.opening,
        change.fillFactor,
        change.fillMode,
        change.compaction,
        change.compactionInterval,
        change.forbidOversubscription,
        change.basis);
  }

  private void set(String name, SchedulingPolicy wanted) {
    switch (name) {
      case "rebalance_compute_seconds" ->
          rebalanceSeconds = aboveZero(name, wanted.getRebalanceComputeSeconds());
      case "first_rebalance_compute_seconds" ->
          firstRebalanceSeconds = fromZero(name, wanted.getFirstRebalanceComputeSeconds());
      case "hysteresis" -> {
        hysteresis = fromZero(name, wanted.getHysteresis());
        require(hysteresis < 1, name, hysteresis, "from 0 to below 1");
      }
      // 0 is that of the rebalance budget as it is now, not as it will be.
      case "ema_halflife_compute_seconds" -> {
        double value = fromZero(name, wanted.getEmaHalflifeComputeSeconds());
        halfLifeSeconds = value == 0 ? rebalanceSeconds : value;
      }
      case "default_replicas" -> {
        long value = wanted.getDefaultReplicas();
        require(
            value == -1 || (value >= 1 && value <= Integer.MAX_VALUE),
            name,
            value,
            "1 or more, or -1 for all workers");
        defaultReplicas = (int) value;
      }
      case "routing_policy" ->
          opening = named(name, wanted.getRoutingPolicy(), OpeningPolicy.values());
      case "routing_fill_factor" -> fillFactor = aboveZero(name, wanted.getRoutingFillFactor());
      case "routing_fill_mode" ->
          fillMode = named(name, wanted.getRoutingFillMode(), FillMode.values());
      case "compaction_mode" ->
          compaction = named(name, wanted.getCompactionMode(), CompactionMode.values());
      case "compaction_interval" -> {
        long value = wanted.getCompactionInterval();
        require(value >= 0 && value <= Integer.MAX_VALUE, name, value, "0 or more");
        compactionInterval = (int) value;
      }
      case "forbid_memory_oversubscription" ->
          forbidOversubscription = wanted.getForbidMemoryOversubscription();
      case "work_basis" -> basis = named(name, wanted.getWorkBasis(), WorkBasis.values());
      default ->
          throw refused(
              AT_START.contains(name)
                  ? "'%s' is decided when the gateway starts; change its configuration"
                      .formatted(name)
                  : "'%s' is no part of the policy; there are %s".formatted(name, PARTS));
    }
  }

  private static double aboveZero(String name, double value) {
    require(value > 0 && Double.isFinite(value), name, value, "above 0");
    return value;
  }

  private static double fromZero(String name, double value) {
    require(value >= 0 && Double.isFinite(value), name, value, "0 or more");
    return value;
  }

  /** The constant that is written so in configuration and messages. */
  static <E extends Enum<E>> E named(String name, String value, E[] all) {
    for (E each : all) {
      if (text(each).equals(value)) {
        return each;
      }
    }
    throw refused(
        "%s is '%s'; it is one of %s"
            .formatted(name, value, Arrays.stream(all).map(PolicyChange::text).toList()));
  }

  static String text(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  private static void require(boolean holds, String name, Object value, String bound) {
    if (!holds) {
      throw refused("%s is %s; it is %s".formatted(name, value, bound));
    }
  }

  static StatusRuntimeException refused(String text) {
    return Status.INVALID_ARGUMENT.withDescription(text).asRuntimeException();
  }
}
