package dev.roundhouse.platform.rest;

import java.time.Duration;
import org.apache.catalina.core.StandardHost;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/** What the protocol needs of Tomcat, beside virtual threads, which the configuration turns on. */
public final class HttpServerSettings
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {
  private final int maxBodyBytes;
  private final Duration stalled;

  /**
   * @param maxBodyBytes that a request may have; one that is refused before its body was read is
   *     read so far, so that its client reads why instead of losing the connection
   * @param stalled what a request's head may take, and each further part of its body
   */
  public HttpServerSettings(int maxBodyBytes, Duration stalled) {
    this.maxBodyBytes = maxBodyBytes;
    this.stalled = stalled;
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.setProtocol(HttpProtocol.class.getName());
    factory.addEngineValves(new ClientConnection.Noting());
    factory.addContextCustomizers(
        context -> {
          if (context.getParent() instanceof StandardHost host) {
            host.setErrorReportValveClass(JsonErrorValve.class.getName());
          }
        });
    factory.addConnectorCustomizers(
        connector -> {
          if (connector.getProtocolHandler() instanceof HttpProtocol http) {
            http.setMaxSwallowSize(maxBodyBytes);
            http.setStalled(stalled);
          }
        });
  }
}
