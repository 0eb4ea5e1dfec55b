package dev.roundhouse.gateway.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.route.OpeningPolicy;
import dev.roundhouse.gateway.route.WorkBasis;
import dev.roundhouse.kserve.control.proto.SchedulingPolicy;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What operators may change of a policy while the gateway runs. */
class PolicyChangeTest {
  static final Policy DEFAULTS =
      new Policy(
          300,
          60,
          0,
          0,
          1,
          OpeningPolicy.FILL_LEAST,
          1,
          FillMode.RUN,
          CompactionMode.EAGER,
          1,
          true,
          WorkBasis.COMPUTE);

  @Test
  void shouldChangeWhatIsNamedAndNothingElse() {
    SchedulingPolicy wanted =
        SchedulingPolicy.newBuilder()
            .setRebalanceComputeSeconds(10)
            .setFirstRebalanceComputeSeconds(5)
            .setHysteresis(0.25)
            .setDefaultReplicas(-1)
            .setRoutingPolicy("fill_rr")
            .setRoutingFillFactor(2)
            .setRoutingFillMode("spread")
            .setCompactionMode("scheduled")
            .setCompactionInterval(3)
            .setForbidMemoryOversubscription(false)
            .setWorkBasis("items")
            .build();
    assertThat(PolicyChange.of(DEFAULTS, List.of("hysteresis"), wanted))
        .isEqualTo(
            new Policy(
                300,
                60,
                0.25,
                0,
                1,
                OpeningPolicy.FILL_LEAST,
                1,
                FillMode.RUN,
                CompactionMode.EAGER,
                1,
                true,
                WorkBasis.COMPUTE));
    assertThat(
            PolicyChange.of(
                DEFAULTS,
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
                    "work_basis"),
                wanted))
        .isEqualTo(
            new Policy(
                10,
                5,
                0.25,
                10, // 0 is the rebalance budget as it is at that moment
                -1,
                OpeningPolicy.FILL_RR,
                2,
                FillMode.SPREAD,
                CompactionMode.SCHEDULED,
                3,
                false,
                WorkBasis.ITEMS));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "rebalance_compute_seconds | rebalance_compute_seconds is 0.0; it is above 0",
        "hysteresis | hysteresis is 1.0; it is from 0 to below 1",
        "default_replicas | default_replicas is 0; it is 1 or more, or -1 for all workers",
        "routing_policy | routing_policy is 'best'; it is one of [fill_least, fill_rr]",
        "compaction_interval | compaction_interval is -1; it is 0 or more",
        "mode | 'mode' is decided when the gateway starts; change its configuration",
        "speed | 'speed' is no part of the policy; there are [rebalance_compute_seconds, "
      })
  void shouldRefuseByName(String name, String text) {
    SchedulingPolicy wanted =
        SchedulingPolicy.newBuilder()
            .setHysteresis(1)
            .setRoutingPolicy("best")
            .setCompactionInterval(-1)
            .build();
    assertThatThrownBy(() -> PolicyChange.of(DEFAULTS, List.of(name), wanted))
        .hasMessageStartingWith("INVALID_ARGUMENT: " + text.strip());
  }

  @Test
  void shouldRefuseToChangeNothing() {
    assertThatThrownBy(
            () -> PolicyChange.of(DEFAULTS, List.of(), SchedulingPolicy.getDefaultInstance()))
        .hasMessageContaining("update_mask is empty");
  }
}
