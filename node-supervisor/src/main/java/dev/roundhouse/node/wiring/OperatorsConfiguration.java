package dev.roundhouse.node.wiring;

import dev.roundhouse.node.ManagementAddress;
import dev.roundhouse.node.config.NodeProperties;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.platform.operators.AnsweredFor;
import dev.roundhouse.platform.operators.OperatorsClient;
import dev.roundhouse.platform.operators.OperatorsPort;
import dev.roundhouse.platform.operators.WorkersModels;
import dev.roundhouse.platform.operators.WorkersResidency;
import dev.roundhouse.platform.operators.WorkersScheduler;
import java.util.List;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What operators are answered for the node's workers and its gateway. */
@Configuration(proxyBeanMethods = false)
class OperatorsConfiguration {

  @Bean
  OperatorsClient operatorsClient() {
    return new OperatorsClient();
  }

  @Bean
  AnsweredFor answeredFor(
      OperatorsClient client,
      NodeProperties properties,
      NodePlan plan,
      ManagementAddress management) {
    List<OperatorsPort> ports = plan.operators(NodeConfiguration.operators(properties, management));
    return new AnsweredFor(client, () -> ports, properties.metrics());
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
