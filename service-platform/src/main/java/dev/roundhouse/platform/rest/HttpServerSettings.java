package dev.roundhouse.platform.rest;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.process.DescriptorShare;
import dev.roundhouse.platform.process.TemporaryFolder;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.core.StandardHost;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;

/** What the protocol needs of Tomcat, beside virtual threads, which the configuration turns on. */
public final class HttpServerSettings
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>,
        SmartLifecycle,
        AutoCloseable {
  /** They name a model. */
  private static final long OPERATORS_BODY_BYTES = 64 << 10;

  /** Of a query, or of a form, which nothing here reads. */
  private static final int MAX_PARAMETERS = 100;

  private static final int MAX_FORM_BYTES = 64 << 10;

  /** Of a connection: the client's, and one to a worker. */
  private static final int DESCRIPTORS = 2;

  /** That of the operators' port, which has few, of what is kept for the process itself. */
  private static final int OPERATORS_DESCRIPTORS = 8;

  /** For requests that their clients have sent before they could know. */
  private static final long ON_THEIR_WAY_MILLIS = 300;

  private final Set<HttpProtocol> servers = ConcurrentHashMap.newKeySet();
  private volatile boolean running;
  private final TemporaryFolder folder = TemporaryFolder.create("tomcat");
  private final int maxBodyBytes;
  private final Duration stalled;
  private final Browsers browsers;
  private final Access access;

  /**
   * @param maxBodyBytes that a request may have; one that is refused before its body was read is
   *     read so far, so that its client reads why instead of losing the connection
   * @param stalled what a request's head may take, and each further part of its body
   * @param browsers what they may not ask
   * @param access who may change something
   */
  public HttpServerSettings(int maxBodyBytes, Duration stalled, Browsers browsers, Access access) {
    this.maxBodyBytes = maxBodyBytes;
    this.stalled = stalled;
    this.browsers = browsers;
    this.access = access;
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    customize(factory, Long.MAX_VALUE, DESCRIPTORS);
  }

  /** For the operators' port, whose requests have small bodies. */
  public void customizeForOperators(TomcatServletWebServerFactory factory) {
    customize(factory, OPERATORS_BODY_BYTES, OPERATORS_DESCRIPTORS);
  }

  private void customize(
      TomcatServletWebServerFactory factory, long mostBodyBytes, int descriptors) {
    factory.setProtocol(HttpProtocol.class.getName());
    if (factory.getBaseDirectory() == null) { // else it makes some that stay when it is killed
      factory.setBaseDirectory(made("base"));
      factory.setDocumentRoot(made("documents"));
    }
    factory.addEngineValves(
        new UnreadBodies(), new AuditValve(), new BrowserValve(browsers), new AccessValve(access));
    factory.addContextCustomizers(
        context -> {
          if (context.getParent() instanceof StandardHost host) {
            host.setErrorReportValveClass(JsonErrorValve.class.getName());
          }
        });
    factory.addConnectorCustomizers(
        connector -> {
          connector.setMaxParameterCount(MAX_PARAMETERS);
          connector.setMaxPostSize(MAX_FORM_BYTES);
          if (connector.getProtocolHandler() instanceof HttpProtocol http) {
            servers.add(http);
            http.setMaxSwallowSize(maxBodyBytes);
            http.setStalled(stalled);
            http.setMaxBody(mostBodyBytes);
            http.setMaxKeepAliveRequests(-1); // a client keeps its connection
            if (http.getMaxConnections() > 0) {
              http.setMaxConnections(
                  DescriptorShare.ofProcess().connections(http.getMaxConnections(), descriptors));
            }
          }
        });
  }

  /** Makes clients go elsewhere, while they are still served: each answer closes its connection. */
  public void leave() {
    servers.forEach(HttpProtocol::leave);
  }

  /** Before Tomcat stops, which drops what then arrives on open connections. */
  @Override
  public int getPhase() {
    return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE + 1;
  }

  @Override
  public void start() {
    running = true;
  }

  @Override
  public void stop() {
    running = false;
  }

  @Override
  public void stop(Runnable done) {
    stop();
    servers.forEach(HttpProtocol::closeDoor);
    if (servers.stream().noneMatch(HttpProtocol::hasConnections)) {
      done.run();
      return;
    }
    CompletableFuture.delayedExecutor(ON_THEIR_WAY_MILLIS, TimeUnit.MILLISECONDS)
        .execute(
            () -> {
              servers.forEach(HttpProtocol::closeIdle);
              done.run();
            });
  }

  @Override
  public boolean isRunning() {
    return running;
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
