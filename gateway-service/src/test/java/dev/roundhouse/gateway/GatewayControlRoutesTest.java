package dev.roundhouse.gateway;

import dev.roundhouse.platform.rest.ControlRoutesContract;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.springframework.core.env.Environment;

/** The protocol's routes, as every application has them. */
@Timeout(180)
class GatewayControlRoutesTest extends ControlRoutesContract {
  private static FakeWorker worker;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    worker = new FakeWorker("w0", "double");
    gateway = new RunningGateway(List.of(worker));
    gateway.awaitReady(1);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    worker.close();
  }

  @Override
  protected int port() {
    return gateway.bean(Environment.class).getRequiredProperty("local.server.port", Integer.class);
  }
}
