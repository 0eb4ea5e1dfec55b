package dev.roundhouse.worker.wiring;

import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.ServerIdentity;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.v1.GrpcCalls;
import dev.roundhouse.worker.transport.v1.V1GrpcService;
import dev.roundhouse.worker.transport.v1.V1Protocol;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** The v1 protocol. Without these beans none of its methods and routes is there. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnBooleanProperty(WorkerProperties.PREFIX + ".v1.enabled")
class V1Configuration {

  @Bean
  V1Protocol v1Protocol(
      Inference inference, ModelLookup models, ServerIdentity server, ClientText texts) {
    return new V1Protocol(inference, models, server, texts);
  }

  @Bean
  GrpcCalls v1Calls(V1Protocol protocol) {
    return protocol.calls();
  }

  @Bean
  @Conditional(V1PortsConfiguration.HasNone.class)
  V1GrpcService v1GrpcService(
      V1Protocol protocol,
      GrpcCalls calls,
      Readiness readiness,
      ServerIdentity server,
      ModelControl control,
      ModelConfigs configs,
      ClientRegions regions) {
    return protocol.service(calls, readiness, server, control, configs, regions);
  }
}
