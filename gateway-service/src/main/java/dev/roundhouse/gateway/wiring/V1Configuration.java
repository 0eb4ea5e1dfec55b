package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.FleetRegions;
import dev.roundhouse.gateway.calls.SharedRegions;
import dev.roundhouse.gateway.calls.V1Statuses;
import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.grpc.V1GatewayService;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.platform.text.ClientText;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The v1 protocol. Without this bean none of its methods and routes is there. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnBooleanProperty(GatewayProperties.PREFIX + ".v1.enabled")
class V1Configuration {

  @Bean
  V1GatewayService v1GatewayService(
      GatewayReadiness readiness,
      FleetCalls calls,
      Workers workers,
      SharedRegions regions,
      ClientText texts,
      GatewayProperties properties) {
    return new V1GatewayService(
        readiness,
        calls,
        new V1Statuses(workers, properties.health().timeout()),
        new FleetRegions(regions, calls),
        texts);
  }
}
