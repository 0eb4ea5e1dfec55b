package dev.roundhouse.gateway;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;

/** A key and its certificate, of {@code worker.test}, which trusts itself and nobody else. */
final class TestKeys {
  private static final String PASSWORD = "password";

  private final Path store;
  private final KeyManagerFactory keys;
  private final TrustManagerFactory trusted;

  TestKeys(Path store) throws Exception {
    this.store = store;
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-alias",
                "test",
                "-dname",
                "CN=test",
                "-ext",
                "SAN=DNS:worker.test",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .inheritIO()
            .start();
    if (!keytool.waitFor(1, TimeUnit.MINUTES) || keytool.exitValue() != 0) {
      throw new IOException("no key was made");
    }
    KeyStore loaded = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      loaded.load(in, PASSWORD.toCharArray());
    }
    keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(loaded, PASSWORD.toCharArray());
    trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(loaded);
  }

  /** Of a gateway that speaks TLS by them. */
  String[] settings(String... more) {
    String bundle = "--spring.ssl.bundle.jks.workers.";
    String[] all = new String[5 + more.length];
    all[0] = bundle + "keystore.location=file:" + store;
    all[1] = bundle + "keystore.password=" + PASSWORD;
    all[2] = bundle + "truststore.location=file:" + store;
    all[3] = bundle + "truststore.password=" + PASSWORD;
    all[4] = "--roundhouse.gateway.tls.bundle=workers";
    System.arraycopy(more, 0, all, 5, more.length);
    return all;
  }

  SslContext grpc() {
    try {
      return GrpcSslContexts.configure(
              io.netty.handler.ssl.SslContextBuilder.forServer(keys)
                  .trustManager(trusted)
                  .clientAuth(ClientAuth.REQUIRE))
          .build();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  HttpsConfigurator http() {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), trusted.getTrustManagers(), null);
      return new HttpsConfigurator(context) {
        @Override
        public void configure(HttpsParameters parameters) {
          SSLParameters wanted = getSSLContext().getDefaultSSLParameters();
          wanted.setNeedClientAuth(true);
          parameters.setSSLParameters(wanted);
        }
      };
    } catch (java.security.GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }
}
