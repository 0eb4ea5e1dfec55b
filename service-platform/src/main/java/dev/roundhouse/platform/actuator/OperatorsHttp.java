package dev.roundhouse.platform.actuator;

import dev.roundhouse.platform.rest.HttpServerSettings;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;

/** Has the port of the operators end who sends or reads next to nothing, as the clients' port. */
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
class OperatorsHttp {

  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> operatorsHttpSettings(
      ObjectProvider<HttpServerSettings> clients) {
    return factory -> clients.ifAvailable(settings -> settings.customizeForOperators(factory));
  }
}
