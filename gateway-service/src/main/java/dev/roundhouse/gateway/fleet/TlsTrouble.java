package dev.roundhouse.gateway.fleet;

import io.netty.handler.ssl.NotSslRecordException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.security.NoSuchAlgorithmException;
import java.security.cert.CertificateException;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Explains why a worker cannot be reached because of TLS, and what to do about it. */
final class TlsTrouble {
  private static final String KEY = "roundhouse.gateway.tls.";

  private static final int MOST_MILLIS = 1_000;

  /** How records of TLS begin. */
  private static final int ALERT = 21;

  private static final int HANDSHAKE = 22;

  private TlsTrouble() {}

  /** Why a TLS call has failed; empty when TLS is not the reason. */
  static Optional<String> ofSecret(Throwable failure) {
    @Nullable Throwable deepest = null;
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof NotSslRecordException) {
        return Optional.of(
            "it does not speak TLS; remove " + KEY + "bundle, or give it a certificate");
      }
      if (each instanceof SSLException || each instanceof CertificateException) {
        deepest = each;
      }
    }
    return Optional.ofNullable(deepest)
        .map(why -> "TLS: " + why.getMessage() + "; see " + KEY + "bundle and .server-name");
  }

  /**
   * Why a plain-text call has failed: a server that speaks only TLS hangs up without a reason, so
   * it is probed. Blocks for about a second at most.
   */
  static Optional<String> ofPlain(InetSocketAddress worker) {
    return speaksTls(worker)
        ? Optional.of("it speaks TLS and the gateway does not; set " + KEY + "bundle")
        : Optional.empty();
  }

  private static boolean speaksTls(InetSocketAddress worker) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(worker.getHostString(), worker.getPort()), MOST_MILLIS);
      socket.setSoTimeout(MOST_MILLIS);
      SSLEngine client = SSLContext.getDefault().createSSLEngine();
      client.setUseClientMode(true);
      ByteBuffer hello = ByteBuffer.allocate(client.getSession().getPacketBufferSize());
      var unused = client.wrap(ByteBuffer.allocate(0), hello);
      socket.getOutputStream().write(hello.array(), 0, hello.position());
      int first = socket.getInputStream().read();
      return first == ALERT || first == HANDSHAKE;
    } catch (IOException | NoSuchAlgorithmException e) {
      return false; // what the call has said is told
    }
  }
}
