package dev.roundhouse.platform.rest;

import dev.roundhouse.platform.grpc.LocalCalls;
import dev.roundhouse.platform.text.ClientText;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementContextFactory;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationProperties;
import org.springframework.boot.tomcat.autoconfigure.TomcatWebServerConfiguration;
import org.springframework.boot.tomcat.autoconfigure.servlet.TomcatServletWebServerAutoConfiguration;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.GracefulShutdownCallback;
import org.springframework.boot.web.server.GracefulShutdownResult;
import org.springframework.boot.web.server.WebServer;
import org.springframework.boot.web.server.servlet.ServletWebServerFactory;
import org.springframework.boot.webmvc.error.DefaultErrorAttributes;
import org.springframework.boot.webmvc.error.ErrorAttributes;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.mvc.support.DefaultHandlerExceptionResolver;

/**
 * Makes {@link HttpFront} the web server of an application, which then has no servlets; those are
 * the operators', at their own port, by Tomcat.
 */
@Configuration(proxyBeanMethods = false)
public class HttpFrontConfiguration {

  /** Boot asks for a server before it makes beans, and needs it when all are there. */
  @Bean
  ServletWebServerFactory httpFrontFactory(ObjectProvider<HttpFront> front) {
    return initializers -> new Deferred(front);
  }

  /** Boot's own would give the operators' port a factory of the same kind as this one's. */
  @Bean
  static ManagementContextFactory operatorsContextFactory() {
    return new ManagementContextFactory(
        WebApplicationType.SERVLET,
        TomcatServletWebServerFactory.class,
        TomcatWebServerConfiguration.class,
        TomcatServletWebServerAutoConfiguration.class);
  }

  /** The routes of the protocol but inference, by the application's own services. */
  @Bean
  ControlRoutes controlRoutes(
      GrpcServiceDiscoverer services,
      GrpcServiceConfigurer configurer,
      ClientText texts,
      ObservationRegistry observations,
      ObservationProperties settings) {
    LocalCalls calls =
        new LocalCalls(
            services.findServices().stream()
                .map(service -> configurer.configure(service, null))
                .toList());
    return new ControlRoutes(
        calls, texts, observations, settings.getHttp().getServer().getRequests().getName());
  }

  /** What the operators' port says of errors. */
  @Bean
  ErrorAttributes errorAttributes() {
    return new DefaultErrorAttributes();
  }

  /** Which code the operators' port answers errors with. */
  @Bean
  HandlerExceptionResolver errorCodes() {
    return new DefaultHandlerExceptionResolver();
  }

  /** A server that is made when it is to start; the bean is destroyed as others are. */
  private static final class Deferred implements WebServer {
    private final ObjectProvider<HttpFront> front;
    private volatile @Nullable HttpFront made;

    Deferred(ObjectProvider<HttpFront> front) {
      this.front = front;
    }

    @Override
    public void start() {
      HttpFront server = front.getObject();
      server.start();
      made = server;
    }

    @Override
    public int getPort() {
      HttpFront server = made;
      return server == null ? -1 : server.getPort();
    }

    @Override
    public void shutDownGracefully(GracefulShutdownCallback done) {
      HttpFront server = made;
      if (server == null) {
        done.shutdownComplete(GracefulShutdownResult.IDLE);
      } else {
        server.drain(() -> done.shutdownComplete(GracefulShutdownResult.IDLE));
      }
    }

    @Override
    public void stop() {
      HttpFront server = made;
      if (server != null) {
        server.drain(() -> {});
      }
    }
  }
}
