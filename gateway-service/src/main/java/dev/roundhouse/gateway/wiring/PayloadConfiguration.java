package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.platform.actuator.PayloadMeters;
import dev.roundhouse.platform.payload.PayloadLog;
import java.util.Objects;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Copies of requests and answers for a collector, where there is one. */
@Configuration(proxyBeanMethods = false)
@Conditional(PayloadConfiguration.IsOn.class)
class PayloadConfiguration {
  private static final String KEY = GatewayProperties.PREFIX + ".payload-log";

  @Bean
  PayloadLog payloadLog(GatewayProperties properties, SslBundles bundles) {
    return Objects.requireNonNull(
        PayloadLog.of(properties.payloadLog(), KEY, "roundhouse-gateway", bundles));
  }

  @Bean
  PayloadMeters payloadMeters(PayloadLog payloads) {
    return new PayloadMeters(payloads);
  }

  static final class IsOn implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return !context.getEnvironment().getProperty(KEY + ".url", "").isEmpty();
    }
  }
}
