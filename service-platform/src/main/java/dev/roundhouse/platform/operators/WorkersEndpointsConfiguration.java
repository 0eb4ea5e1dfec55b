package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.page.PageEnd;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What answers operators for workers; an application adds for which, as {@link AnsweredFor}. */
@Configuration(proxyBeanMethods = false)
public class WorkersEndpointsConfiguration {

  @Bean
  OperatorsClient operatorsClient() {
    return new OperatorsClient();
  }

  @Bean
  PageEnd pageEnd() {
    return new PageEnd();
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
