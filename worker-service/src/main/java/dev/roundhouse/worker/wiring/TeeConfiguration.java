package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Doors;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.TeeSeries;
import dev.roundhouse.worker.config.TeeProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.learner.LearnerServer;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Copies of requests, where models are chosen for that. */
@Configuration(proxyBeanMethods = false)
@Conditional(TeeConfiguration.IsOn.class)
class TeeConfiguration {
  private static final String KEY = WorkerProperties.PREFIX + ".tee";

  /** With the port of learners, where there is one. */
  static Doors doors(TeeProperties own, Doors others) {
    return own.port() >= 0
        ? others.and(new Doors.Door(KEY + ".address", own.address(), false, false))
        : others;
  }

  @Bean
  Tee tee(WorkerProperties properties, Engine engine) {
    return new Tee(properties.tee(), engine::model, engine::nanoTime);
  }

  @Bean
  TeeSeries teeSeries(
      Tee tee,
      ObjectProvider<LearnerServer> learners,
      WorkerProperties properties,
      ObjectProvider<PrometheusRegistry> prometheus) {
    TeeSeries series =
        new TeeSeries(tee, learners.getIfAvailable(), properties.metrics().perModel());
    prometheus.ifAvailable(registry -> Series.show(registry, series));
    return series;
  }

  /** The port of learners. */
  @Configuration(proxyBeanMethods = false)
  @Conditional(IsListening.class)
  static class Learners {
    @Bean
    LearnerServer learnerServer(
        WorkerProperties properties,
        Tee tee,
        Access access,
        ClientText texts,
        PeerMemory memory,
        Engine engine) {
      return new LearnerServer(properties.tee(), tee, access, texts, memory, engine::fail);
    }
  }

  static final class IsOn implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      Environment settings = context.getEnvironment(); // not bound yet: what is wrong is said later
      return hasModels(settings) || isSet(settings, "folder") || isListening(settings);
    }
  }

  static final class IsListening implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return isListening(context.getEnvironment());
    }
  }

  private static boolean isListening(Environment settings) {
    return !settings.getProperty(KEY + ".port", "-1").equals("-1") || isSet(settings, "socket");
  }

  private static boolean isSet(Environment settings, String name) {
    return !settings.getProperty(KEY + "." + name, "").isEmpty();
  }

  private static boolean hasModels(Environment settings) {
    return Binder.get(settings).bind(KEY + ".models", String[].class).orElse(new String[0]).length
        > 0;
  }
}
