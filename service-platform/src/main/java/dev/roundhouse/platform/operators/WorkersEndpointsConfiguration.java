package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.actuator.WriteAccess;
import dev.roundhouse.platform.config.EffectiveSettings;
import dev.roundhouse.platform.page.PageEnd;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * What answers operators for workers; an application adds for which, as {@link AnsweredFor}, and
 * its own {@link EffectiveSettings}.
 */
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
  WorkersModels workersModels(AnsweredFor others, Environment environment) {
    return new WorkersModels(others, WriteAccess.isGranted(environment, WriteAccess.MODELS));
  }

  @Bean
  WorkersResidency workersResidency(AnsweredFor others, Environment environment) {
    return new WorkersResidency(others, WriteAccess.isGranted(environment, WriteAccess.RESIDENCY));
  }

  @Bean
  WorkersRepository workersRepository(AnsweredFor others, Environment environment) {
    return new WorkersRepository(
        others, WriteAccess.isGranted(environment, WriteAccess.REPOSITORY));
  }

  @Bean
  WorkersDrain workersDrain(AnsweredFor others, Environment environment) {
    return new WorkersDrain(others, WriteAccess.isGranted(environment, WriteAccess.DRAIN));
  }

  @Bean
  WorkersRecording workersRecording(AnsweredFor others, Environment environment) {
    return new WorkersRecording(others, WriteAccess.isGranted(environment, WriteAccess.RECORDING));
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
