package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.config.EffectiveSettings;
import dev.roundhouse.platform.page.PageEnd;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * What answers operators for workers; an application adds for which, as {@link AnsweredFor}, and
 * its own {@link EffectiveSettings}.
 */
@Configuration(proxyBeanMethods = false)
public class WorkersEndpointsConfiguration {

  @Bean
  OperatorsClient operatorsClient(Access access) {
    return new OperatorsClient(access);
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
  WorkersRepository workersRepository(AnsweredFor others) {
    return new WorkersRepository(others);
  }

  @Bean
  WorkersDrain workersDrain(AnsweredFor others) {
    return new WorkersDrain(others);
  }

  @Bean
  WorkersRecording workersRecording(AnsweredFor others) {
    return new WorkersRecording(others);
  }

  @Bean
  WorkersSettings workersSettings(AnsweredFor others, EffectiveSettings own) {
    return new WorkersSettings(others, own);
  }

  @Bean
  WorkersScheduler workersScheduler(AnsweredFor others) {
    return new WorkersScheduler(others);
  }
}
