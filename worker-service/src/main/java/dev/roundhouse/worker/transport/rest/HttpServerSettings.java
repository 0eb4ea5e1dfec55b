package dev.roundhouse.worker.transport.rest;

import org.apache.catalina.core.StandardHost;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/** What the protocol needs of Tomcat, beside virtual threads, which the configuration turns on. */
public final class HttpServerSettings
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {
  private final int maxBodyBytes;

  /**
   * @param maxBodyBytes that a request may have; one that is refused before its body was read is
   *     read so far, so that its client reads why instead of losing the connection
   */
  public HttpServerSettings(int maxBodyBytes) {
    this.maxBodyBytes = maxBodyBytes;
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
          if (connector.getProtocolHandler() instanceof AbstractHttp11Protocol<?> http) {
            http.setMaxSwallowSize(maxBodyBytes);
          }
        });
  }
}
