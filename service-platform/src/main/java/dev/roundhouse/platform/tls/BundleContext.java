package dev.roundhouse.platform.tls;

import dev.roundhouse.platform.config.StartRefusedException;
import io.netty.handler.ssl.SslContext;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;

/**
 * What new connections are secured by: an SSL bundle as it is now. One that is renewed and cannot
 * be used leaves the one before. Thread-safe.
 */
public final class BundleContext implements Supplier<SslContext> {
  private static final Logger log = LoggerFactory.getLogger(BundleContext.class);

  private final String server;
  private final String name;
  private final Maker maker;
  private volatile SslContext current;

  /** Makes a context of a bundle. */
  @FunctionalInterface
  public interface Maker {
    SslContext make(SslBundle bundle) throws SSLException;
  }

  private BundleContext(String server, String name, Maker maker, SslContext current) {
    this.server = server;
    this.name = name;
    this.maker = maker;
    this.current = current;
  }

  /**
   * @param server whose connections these are, for people
   * @param name of the bundle
   * @throws StartRefusedException when there is no such bundle, or it cannot be used
   */
  public static BundleContext of(SslBundles bundles, String server, String name, Maker maker) {
    try {
      BundleContext made =
          new BundleContext(server, name, maker, maker.make(bundles.getBundle(name)));
      bundles.addBundleUpdateHandler(name, made::renew);
      return made;
    } catch (SSLException | NoSuchSslBundleException e) {
      throw new StartRefusedException(
          "%s cannot use the SSL bundle '%s': %s".formatted(server, name, e.getMessage()),
          "See spring.ssl.bundle." + name + ".",
          e);
    }
  }

  private void renew(SslBundle renewed) {
    try {
      current = maker.make(renewed);
    } catch (SSLException | RuntimeException e) {
      log.error(
          "{}: the renewed SSL bundle '{}' cannot be used; the one before stays", server, name, e);
    }
  }

  @Override
  public SslContext get() {
    return current;
  }
}
