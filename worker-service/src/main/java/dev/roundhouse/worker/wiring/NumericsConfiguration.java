package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.NumericsException;
import dev.roundhouse.worker.config.RuntimeProperties;
import dev.roundhouse.worker.config.StartRefusedException;
import dev.roundhouse.worker.config.WorkerProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Puts the device under the configured numerics, before the engine has it. */
@Configuration(proxyBeanMethods = false)
class NumericsConfiguration {

  @Bean
  Numerics numerics(Device device, WorkerProperties properties) {
    RuntimeProperties wanted = properties.runtime();
    try {
      return Numerics.start(device, wanted.numerics(), wanted.numericsProbe());
    } catch (NumericsException refusal) {
      device.close();
      throw new StartRefusedException(
          "The device cannot keep roundhouse.worker.runtime.numerics: " + refusal.getMessage(),
          "Change roundhouse.worker.runtime.numerics, or use another device.",
          refusal);
    }
  }
}
