package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.transport.io.LoopEnd;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GatewayFailureTest {
  @Test
  void shouldBeNeitherReadyNorAliveAndExitWhenAThreadOfItsServerIsGone() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0");
        RunningGateway gateway =
            new RunningGateway(
                List.of(worker), "--spring.main.sources=" + LoopEnd.class.getName())) {
      LoopEnd.by(gateway.channel());
      assertThat(gateway.exited().get(30, TimeUnit.SECONDS)).isEqualTo(FailStopExit.CODE);
      assertThat(gateway.send("GET", "/v2/health/live", "").statusCode()).isEqualTo(503);
      assertThat(gateway.send("GET", "/v2/health/ready", "").statusCode()).isEqualTo(503);
      assertThat(gateway.management("/actuator/health/liveness")).contains("DOWN");
    }
  }
}
