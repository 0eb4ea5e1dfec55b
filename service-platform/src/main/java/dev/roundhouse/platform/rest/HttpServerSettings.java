package dev.roundhouse.platform.rest;

import dev.roundhouse.platform.process.TemporaryFolder;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import org.apache.catalina.core.StandardHost;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/** What the protocol needs of Tomcat, beside virtual threads, which the configuration turns on. */
public final class HttpServerSettings
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>, AutoCloseable {
  private final TemporaryFolder folder = TemporaryFolder.create("tomcat");
  private final int maxBodyBytes;
  private final Duration stalled;
  private final Browsers browsers;

  /**
   * @param maxBodyBytes that a request may have; one that is refused before its body was read is
   *     read so far, so that its client reads why instead of losing the connection
   * @param stalled what a request's head may take, and each further part of its body
   * @param browsers what they may not ask
   */
  public HttpServerSettings(int maxBodyBytes, Duration stalled, Browsers browsers) {
    this.maxBodyBytes = maxBodyBytes;
    this.stalled = stalled;
    this.browsers = browsers;
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.setProtocol(HttpProtocol.class.getName());
    if (factory.getBaseDirectory() == null) { // else it makes some that stay when it is killed
      factory.setBaseDirectory(made("base"));
      factory.setDocumentRoot(made("documents"));
    }
    factory.addEngineValves(
        new ClientConnection.Noting(), new AuditValve(), new BrowserValve(browsers));
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

  private File made(String name) {
    try {
      return Files.createTempDirectory(folder.path(), name).toFile();
    } catch (IOException e) {
      throw new UncheckedIOException("there is no place for Tomcat's files", e);
    }
  }

  /** Removes what servers have written beside their answers. */
  @Override
  public void close() {
    folder.close();
  }
}
