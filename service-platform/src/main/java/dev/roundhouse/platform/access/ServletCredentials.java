package dev.roundhouse.platform.access;

import jakarta.servlet.http.HttpServletRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.util.Collections;
import org.jspecify.annotations.Nullable;

/** What the caller of the operators' port shows. */
public final class ServletCredentials {
  private static final String CERTIFICATES = "jakarta.servlet.request.X509Certificate";

  private ServletCredentials() {}

  public static Credentials of(HttpServletRequest request) {
    return new Credentials(
        address(request.getRemoteAddr(), request.getRemotePort()),
        null,
        certificate(request),
        header(request, "Authorization"),
        header(request, Access.SEALED_CALLER));
  }

  private static @Nullable String header(HttpServletRequest request, String name) {
    return Credentials.joined(Collections.list(request.getHeaders(name)));
  }

  private static @Nullable X509Certificate certificate(HttpServletRequest request) {
    return request.getAttribute(CERTIFICATES) instanceof X509Certificate[] chain && chain.length > 0
        ? chain[0]
        : null;
  }

  /** Null for a domain socket. */
  private static @Nullable SocketAddress address(@Nullable String address, int port) {
    if (address == null || address.isEmpty()) {
      return null;
    }
    try {
      return new InetSocketAddress(InetAddress.ofLiteral(address), port);
    } catch (IllegalArgumentException e) {
      return InetSocketAddress.createUnresolved(address, port);
    }
  }
}
