package dev.roundhouse.platform.access;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * What a caller shows.
 *
 * @param address the other end of its connection; null for none, as within the process
 * @param session of TLS; null for plain text, and where the certificate is given
 * @param certificate that a client has shown and that was verified; null for none, and where the
 *     session is given
 * @param authorization the header of that name, {@link #joined}
 * @param sealed the header {@link Access#SEALED_CALLER}, joined likewise
 */
public record Credentials(
    @Nullable SocketAddress address,
    @Nullable SSLSession session,
    @Nullable X509Certificate certificate,
    @Nullable String authorization,
    @Nullable String sealed) {

  public Credentials(
      @Nullable SocketAddress address,
      @Nullable SSLSession session,
      @Nullable String authorization,
      @Nullable String sealed) {
    this(address, session, null, authorization, sealed);
  }

  /**
   * The values of a header as one, as RFC 9110, 5.3 has it; null for none. No token and no seal has
   * a comma: whoever sends several is refused, whichever of them a proxy in front has judged.
   */
  public static @Nullable String joined(@Nullable Iterable<? extends CharSequence> values) {
    if (values == null) {
      return null;
    }
    return values.iterator().hasNext() ? String.join(", ", values) : null;
  }

  /** A call without a network is of this process, or by a socket in the file system. */
  boolean isLocal() {
    return !(address instanceof InetSocketAddress known)
        || (known.getAddress() != null && known.getAddress().isLoopbackAddress());
  }

  /** Address and port, for people. */
  public String from() {
    return address instanceof InetSocketAddress known && known.getAddress() != null
        ? known.getAddress().getHostAddress() + ":" + known.getPort()
        : String.valueOf(address);
  }
}
