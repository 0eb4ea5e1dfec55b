package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.numerics.DeviceHangsException;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.worker.config.WorkerProperties;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

class NumericsConfigurationTest {

  @Test
  @Timeout(60)
  void shouldEndTheStartWithTheCodeOfAHungDeviceWhenTheProbeNeverEnds() {
    CountDownLatch ended = new CountDownLatch(1);
    ReferenceFunction endless = (program, arguments, results) -> await(ended);
    List<Integer> codes = new ArrayList<>();
    try {
      new ApplicationContextRunner()
          .withUserConfiguration(Started.class)
          .withBean(
              Device.class,
              () -> new SimulatedDevice(SimulatedDeviceOptions.instant(endless), NanoClock.SYSTEM))
          .withBean("processExit", IntConsumer.class, () -> codes::add)
          .withPropertyValues(
              WorkerProperties.PREFIX + ".runtime.numerics-probe=always",
              WorkerProperties.PREFIX + ".runtime.numerics-probe-limit=50ms")
          .run(
              context ->
                  assertThat(context)
                      .getFailure()
                      .rootCause()
                      .isInstanceOf(DeviceHangsException.class)
                      .hasMessageContainingAll("Roundhouse simulated device", "within 50 ms"));
    } finally {
      ended.countDown();
    }
    assertThat(codes).containsExactly(FailStopExit.CODE);
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(WorkerProperties.class)
  @Import({CompilationConfiguration.class, NumericsConfiguration.class})
  static class Started {}
}
