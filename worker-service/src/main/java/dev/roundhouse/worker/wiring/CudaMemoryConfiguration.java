package dev.roundhouse.worker.wiring;

import dev.roundhouse.cuda.CudaException;
import dev.roundhouse.cuda.CudaRuntime;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PluginOptions;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Whether clients can register GPU memory; tests replace it. */
@Configuration(proxyBeanMethods = false)
class CudaMemoryConfiguration {
  private static final Logger log = LoggerFactory.getLogger(CudaMemoryConfiguration.class);

  /** After the device: what CUDA's runtime opens is then the context that the plugin has made. */
  @Bean
  @ConditionalOnMissingBean
  CudaAccess cudaAccess(Device device, WorkerProperties properties) {
    if (!(device instanceof PjrtDevice pjrt)
        || !device.description().platform().equals(PluginOptions.CUDA)) {
      return CudaAccess.NO_GPU;
    }
    if (!properties.sharedMemory().enabled()) {
      return new CudaAccess.Off();
    }
    try {
      int gpu = device.description().ordinal();
      return new CudaAccess.Through(CudaRuntime.open(gpu, pjrt.plugin().cudaRuntime()));
    } catch (CudaException e) {
      log.warn("clients cannot share memory on the GPU: {}", e.getMessage());
      return new CudaAccess.None(
          "CUDA's runtime cannot be used here, and the server's log says why");
    }
  }
}
