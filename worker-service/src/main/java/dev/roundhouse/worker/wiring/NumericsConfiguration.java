package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.numerics.DeviceHangsException;
import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.NumericsException;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.worker.config.RuntimeProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Applies the configured numerics to the device, before the engine has it. */
@Configuration(proxyBeanMethods = false)
class NumericsConfiguration {
  private static final Logger log = LoggerFactory.getLogger(NumericsConfiguration.class);

  @Bean
  Numerics numerics(
      Device device,
      Compilation compilation,
      WorkerProperties properties,
      IntConsumer processExit) {
    RuntimeProperties wanted = properties.runtime();
    try {
      return Numerics.start(
          compilation.device(),
          wanted.numerics(),
          wanted.numericsProbe(),
          wanted.numericsProbeLimit());
    } catch (NumericsException refusal) {
      compilation.close();
      device.close();
      throw new StartRefusedException(
          "The device cannot keep roundhouse.worker.runtime.numerics: " + refusal.getMessage(),
          "Change roundhouse.worker.runtime.numerics, or use another device.",
          refusal);
    } catch (DeviceHangsException hung) {
      StartRefusedException refusal =
          new StartRefusedException(
              "The device hangs: " + hung.getMessage() + ".",
              "See that it works (nvidia-smi), or raise roundhouse.worker.runtime.numerics-probe-limit.",
              hung);
      log.error(
          "{} {} The worker exits with code {}",
          refusal.getMessage(),
          refusal.action(),
          FailStopExit.CODE);
      // An ordinary exit would wait for the plugin's own clean-up, which meets the call that hangs.
      processExit.accept(FailStopExit.CODE);
      throw refusal;
    }
  }
}
