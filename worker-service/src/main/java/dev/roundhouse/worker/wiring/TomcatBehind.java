package dev.roundhouse.worker.wiring;

import dev.roundhouse.platform.process.TemporaryFolder;
import dev.roundhouse.platform.rest.HttpProtocol;
import java.nio.file.Path;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.Shutdown;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.core.Ordered;

/**
 * Has Tomcat listen where only this process's user gets to: on a domain socket in a folder of its
 * own. Port, address and TLS are those of the server before it, which also bounds its connections.
 */
final class TomcatBehind
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>, Ordered, AutoCloseable {
  /** How it is told whose request one is; nobody else gets to its socket. */
  static final String CLIENT = "roundhouse-client";

  private final TemporaryFolder folder = TemporaryFolder.create("http");

  Path socket() {
    return folder.path().resolve("tomcat");
  }

  @Override
  public void close() {
    folder.close();
  }

  /** After those that know of ports. */
  @Override
  public int getOrder() {
    return LOWEST_PRECEDENCE;
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.setPort(0);
    factory.setAddress(null);
    factory.setSsl(null);
    factory.setShutdown(Shutdown.IMMEDIATE); // the server before it has drained by then
    factory.addConnectorCustomizers(
        connector -> {
          connector.setProperty("unixDomainSocketPath", socket().toString());
          connector.setProperty("unixDomainSocketPathPermissions", "rw-------");
          if (connector.getProtocolHandler() instanceof AbstractHttp11Protocol<?> http) {
            http.setMaxConnections(-1);
            http.setKeepAliveTimeout(-1);
          }
          if (connector.getProtocolHandler() instanceof HttpProtocol own) {
            own.setClientHeader(CLIENT);
          }
        });
  }
}
