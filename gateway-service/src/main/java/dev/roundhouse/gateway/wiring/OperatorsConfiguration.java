package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.platform.config.EffectiveSettings;
import dev.roundhouse.platform.operators.AnsweredFor;
import dev.roundhouse.platform.operators.OperatorsClient;
import dev.roundhouse.platform.operators.OperatorsPort;
import dev.roundhouse.platform.operators.WorkersEndpointsConfiguration;
import java.util.Comparator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.ConfigurableEnvironment;

/** What operators are answered for workers, as the gateway knows them at that time. */
@Configuration(proxyBeanMethods = false)
@Import(WorkersEndpointsConfiguration.class)
class OperatorsConfiguration {

  @Bean
  EffectiveSettings effectiveSettings(ConfigurableEnvironment environment) {
    return new EffectiveSettings(GatewayProperties.PREFIX, GatewayProperties.class, environment);
  }

  @Bean
  AnsweredFor answeredFor(OperatorsClient client, Workers workers, GatewayProperties properties) {
    return new AnsweredFor(
        AnsweredFor.GATEWAY,
        client,
        () ->
            workers.all().stream()
                .map(look -> look.link().worker())
                .map(worker -> OperatorsPort.worker(worker.name(), worker.metrics()))
                .sorted(Comparator.comparing(OperatorsPort::name))
                .toList(),
        properties.metrics());
  }
}
