package dev.roundhouse.platform.rest;

import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.Set;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/** Logs every request that could change something, and its result. */
final class AuditValve extends ValveBase {
  private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS", "TRACE");

  /** There is no such route or method: nothing could change. */
  private static final Set<Integer> NO_ROUTE = Set.of(404, 405);

  /** A POST that only reads. */
  private static final String INDEX = "/v2/repository/index";

  AuditValve() {
    super(true);
  }

  @Override
  public void invoke(Request request, Response response) throws IOException, ServletException {
    String path = request.getDecodedRequestURI();
    if (path == null // Tomcat has refused it by its head, and nothing is asked for
        || READING.contains(request.getMethod())
        || InferPath.endsAsOne(path)
        || path.equals(INDEX)) {
      getNext().invoke(request, response);
      return;
    }
    String client = request.getRemoteAddr() + ":" + request.getRemotePort();
    Caller caller = new Caller(client, request.getMethod() + " " + path);
    try (Caller.Scope scope = caller.enter()) {
      getNext().invoke(request, response);
    } finally {
      if (!NO_ROUTE.contains(response.getStatus())) {
        Audit.ended(caller, "", "answered with " + response.getStatus());
      }
    }
  }
}
