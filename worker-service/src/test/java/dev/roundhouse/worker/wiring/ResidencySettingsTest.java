package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.hostweights.HostWeightsKind;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.worker.config.ResidencyProperties.Host;
import dev.roundhouse.worker.config.ResidencyProperties.Weights;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

class ResidencySettingsTest {
  @Test
  void shouldHandOnEveryKey() {
    Optional<Path> digests = Optional.of(Path.of("/cache/weight-digests"));
    assertThat(
            ResidencySettings.hostWeights(
                new Host(Weights.KEEP, null, true, false, "0660"), digests))
        .isEqualTo(
            new HostWeightsOptions(
                HostWeightsKind.KEPT,
                Long.MAX_VALUE,
                ResidencySettings.HOST_BUDGET,
                true,
                Optional.empty()));
    assertThat(
            ResidencySettings.hostWeights(
                new Host(Weights.RE_READ, DataSize.ofBytes(7), false, true, "640"), digests))
        .isEqualTo(
            new HostWeightsOptions(
                HostWeightsKind.RE_READ,
                7,
                ResidencySettings.HOST_BUDGET,
                false,
                Optional.of(new Sharing(Path.of("/dev/shm"), 0640, digests))));
  }
}
