package dev.roundhouse.gateway;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import dev.roundhouse.transport.io.TestKeys;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** TLS of workers that are {@code worker.test}, and of a gateway that they know. */
final class WorkerKeys {
  private final TestKeys keys;

  WorkerKeys(Path folder) throws Exception {
    keys = new TestKeys("worker.test", folder);
  }

  /** Of a gateway that speaks TLS by them. */
  String[] settings(String... more) {
    String bundle = "--spring.ssl.bundle.jks.workers.";
    List<String> own =
        List.of(
            bundle + "keystore.location=file:" + keys.store(),
            bundle + "keystore.password=" + keys.password(),
            bundle + "truststore.location=file:" + keys.store(),
            bundle + "truststore.password=" + keys.password(),
            "--roundhouse.gateway.tls.bundle=workers");
    return Stream.concat(own.stream(), Stream.of(more)).toArray(String[]::new);
  }

  /** Of a server that wants to know who calls. */
  SslContext grpc() throws IOException {
    try {
      return GrpcSslContexts.configure(
              SslContextBuilder.forServer(keys.identity())
                  .trustManager(keys.trust())
                  .clientAuth(ClientAuth.REQUIRE))
          .build();
    } catch (GeneralSecurityException e) {
      throw new IOException(e);
    }
  }

  /** Of a server that wants to know who calls. */
  HttpsConfigurator http() throws IOException {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.identity().getKeyManagers(), keys.trust().getTrustManagers(), null);
      return new HttpsConfigurator(context) {
        @Override
        public void configure(HttpsParameters parameters) {
          SSLParameters wanted = getSSLContext().getDefaultSSLParameters();
          wanted.setNeedClientAuth(true);
          parameters.setSSLParameters(wanted);
        }
      };
    } catch (GeneralSecurityException e) {
      throw new IOException(e);
    }
  }
}
