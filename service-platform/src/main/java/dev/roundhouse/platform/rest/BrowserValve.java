package dev.roundhouse.platform.rest;

import jakarta.servlet.ServletException;
import java.io.IOException;
import java.net.InetAddress;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.jspecify.annotations.Nullable;

/** Refuses requests that must not be answered, before their route is looked up. */
final class BrowserValve extends ValveBase {
  private static final int BAD_REQUEST = 400;

  private final Browsers browsers;

  BrowserValve(Browsers browsers) {
    super(true);
    this.browsers = browsers;
  }

  @Override
  public void invoke(Request request, Response response) throws IOException, ServletException {
    if (HttpProtocol.hasTwoLengths(request.getCoyoteRequest())) {
      response.setHeader("Connection", "close"); // a proxy may see another request here
      JsonReply.error(
          response.getResponse(),
          BAD_REQUEST,
          "the request's head is malformed: it has both Content-Length and Transfer-Encoding; send one of them");
      return;
    }
    String path = request.getDecodedRequestURI();
    if (path == null) { // Tomcat has refused it already
      getNext().invoke(request, response);
      return;
    }
    Browsers.Refusal refusal =
        browsers.refusal(
            new Browsers.Head(
                request.getMethod(),
                path,
                isLoopback(request.getLocalAddr()),
                request.isSecure(),
                request::getHeader));
    if (refusal == null) {
      getNext().invoke(request, response);
    } else {
      JsonReply.error(response.getResponse(), refusal.code(), refusal.text());
    }
  }

  /** False for a domain socket: the server in front has already checked. */
  private static boolean isLoopback(@Nullable String address) {
    if (address == null || address.isEmpty()) {
      return false;
    }
    try {
      return InetAddress.ofLiteral(address).isLoopbackAddress();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
