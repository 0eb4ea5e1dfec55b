package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.platform.operators.AnsweredFor;
import dev.roundhouse.platform.operators.OperatorsClient;
import dev.roundhouse.platform.operators.OperatorsPort;
import dev.roundhouse.platform.operators.WorkersModels;
import dev.roundhouse.platform.operators.WorkersResidency;
import dev.roundhouse.platform.operators.WorkersScheduler;
import java.util.Comparator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What operators are answered for workers, as the gateway knows them at that time. */
@Configuration(proxyBeanMethods = false)
class OperatorsConfiguration {

  @Bean
  OperatorsClient operatorsClient() {
    return new OperatorsClient();
  }

  @Bean
  AnsweredFor answeredFor(OperatorsClient client, Workers workers, GatewayProperties properties) {
    return new AnsweredFor(
        client,
        () ->
            workers.all().stream()
                .map(look -> look.link().worker())
                .map(worker -> OperatorsPort.worker(worker.name(), worker.metrics()))
                .sorted(Comparator.comparing(OperatorsPort::name))
                .toList(),
        properties.metrics());
  }

  @Bean
  WorkersModels workersModels(AnsweredFor others) {
    return new WorkersModels(others);
  }

  @Bean
  WorkersResidency workersResidency(AnsweredFor others) {
    return new WorkersResidency(others);
  }

  @Bean
  WorkersScheduler workersScheduler(AnsweredFor others) {
    return new WorkersScheduler(others);
  }
}
