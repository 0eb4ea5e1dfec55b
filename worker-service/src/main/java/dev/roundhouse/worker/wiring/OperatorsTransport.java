package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import java.time.Duration;
import java.util.List;
import org.springframework.core.env.Environment;

/** The operators' port, which is open until the process ends: it says how that goes. */
record OperatorsTransport(Environment environment) implements Transport {
  @Override
  public String name() {
    return "metrics";
  }

  @Override
  public void start() {
    // Boot does it
  }

  @Override
  public List<Integer> ports() {
    Integer port = environment.getProperty("local.management.port", Integer.class);
    return port == null ? List.of() : List.of(port);
  }

  @Override
  public void drain() {
    // operators look on
  }

  @Override
  public void stop(Duration budget) {
    // Boot does it, last
  }
}
