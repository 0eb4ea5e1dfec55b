package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayKeys;
import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.platform.config.ServerKeys;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Reads the settings; unknown keys are refused before anything starts. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(GatewayProperties.class)
class SettingsConfiguration {

  @Bean
  static BeanFactoryPostProcessor unknownKeyCheck(Environment environment) {
    return beans -> {
      GatewayKeys.check().check(environment);
      ServerKeys.check(environment, GatewayProperties.PREFIX + ".server.http");
    };
  }
}
