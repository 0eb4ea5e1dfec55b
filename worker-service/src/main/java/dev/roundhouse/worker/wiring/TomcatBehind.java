package dev.roundhouse.worker.wiring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
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
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>, Ordered {
  private final Path folder;

  TomcatBehind() {
    try {
      folder = Files.createTempDirectory("roundhouse-http"); // its owner's alone
    } catch (IOException e) {
      throw new UncheckedIOException("there is no place for a domain socket", e);
    }
    folder.toFile().deleteOnExit(); // after what is in it
    socket().toFile().deleteOnExit();
  }

  Path socket() {
    return folder.resolve("tomcat");
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
        });
  }
}
