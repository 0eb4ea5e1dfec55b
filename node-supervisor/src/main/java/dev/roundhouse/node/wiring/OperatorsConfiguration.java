package dev.roundhouse.node.wiring;

import dev.roundhouse.node.ManagementAddress;
import dev.roundhouse.node.config.NodeProperties;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.platform.config.EffectiveSettings;
import dev.roundhouse.platform.operators.AnsweredFor;
import dev.roundhouse.platform.operators.OperatorsClient;
import dev.roundhouse.platform.operators.OperatorsPort;
import dev.roundhouse.platform.operators.WorkersEndpointsConfiguration;
import java.util.List;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.ConfigurableEnvironment;

/** What operators are answered for the node's workers and its gateway. */
@Configuration(proxyBeanMethods = false)
@Import(WorkersEndpointsConfiguration.class)
class OperatorsConfiguration {

  @Bean
  EffectiveSettings effectiveSettings(ConfigurableEnvironment environment) {
    return new EffectiveSettings(NodeProperties.PREFIX, NodeProperties.class, environment);
  }

  @Bean
  AnsweredFor answeredFor(
      OperatorsClient client,
      NodeProperties properties,
      NodePlan plan,
      ManagementAddress management) {
    List<OperatorsPort> ports = plan.operators(NodeConfiguration.operators(properties, management));
    return new AnsweredFor(AnsweredFor.NODE, client, () -> ports, properties.metrics());
  }
}
