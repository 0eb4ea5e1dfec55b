package dev.roundhouse.node.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.node.plan.PassedOn;
import dev.roundhouse.node.upstream.UpstreamSettings;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;

class PassingTest {
  private final StandardEnvironment environment = new StandardEnvironment();

  @Test
  void shouldPassOnTheCommandLineButNotWhatFilesSay() {
    arguments(
        "--roundhouse.worker.server.name=a", "--roundhouse.gateway.server.max-calls=2", "--x=y");
    file(Map.of("roundhouse.worker.compile.threads", "3"));
    PassedOn passed = Passing.of(environment);
    assertThat(passed.worker()).isEqualTo(Map.of("roundhouse.worker.server.name", "a"));
    assertThat(passed.gateway()).isEqualTo(Map.of("roundhouse.gateway.server.max-calls", "2"));
  }

  @Test
  void shouldPassOnWhatUpstreamsFilesSayUnlessItIsSaidInOurKeys() {
    upstream(
        Map.of(
            "roundhouse.worker.server.max-calls", "64",
            "roundhouse.worker.repository.directories", "/theirs",
            "roundhouse.worker.models[my.model].weight", "2",
            "roundhouse.node.devices.cpu-workers", "3",
            "roundhouse.gateway.scheduling.mode", "lpt_packing"));
    file(Map.of("roundhouse.worker.repository.directories[0]", "/ours"));
    arguments("--roundhouse.worker.server.maxCalls=5");
    PassedOn passed = Passing.of(environment);
    assertThat(passed.worker())
        .isEqualTo(
            Map.of(
                "roundhouse.worker.server.maxCalls", "5",
                "roundhouse.worker.models[my.model].weight", "2"));
    assertThat(passed.gateway())
        .isEqualTo(Map.of("roundhouse.gateway.scheduling.mode", "lpt_packing"));
  }

  @Test
  void shouldKnowWhatIsDecidedAndHowTheyStop() {
    file(
        Map.of(
            "roundhouse.worker.device.platform", "cuda",
            "roundhouse.worker.shutdown.drain", "5s",
            "roundhouse.worker.server.lame-duck", "2s"));
    PassedOn passed = Passing.of(environment);
    assertThat(passed.decided()).containsExactly(PassedOn.PLATFORM);
    assertThat(passed.drain().set()).contains(Duration.ofSeconds(5));
    assertThat(passed.drain().lameDuck()).isEqualTo(Duration.ofSeconds(2));
    assertThat(passed.gatewayDrain().set()).isEmpty();
  }

  private void arguments(String... arguments) {
    environment.getPropertySources().addFirst(new SimpleCommandLinePropertySource(arguments));
  }

  private void file(Map<String, Object> values) {
    environment.getPropertySources().addLast(new MapPropertySource("file", values));
  }

  private void upstream(Map<String, Object> values) {
    environment
        .getPropertySources()
        .addLast(new MapPropertySource(UpstreamSettings.SOURCE, values));
  }
}
