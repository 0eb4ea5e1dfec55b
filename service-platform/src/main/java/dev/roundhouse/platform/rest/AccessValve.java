package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.ServletCredentials;
import dev.roundhouse.platform.audit.Caller;
import io.grpc.StatusException;
import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.Set;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/**
 * Asks {@link Access} about requests at the operators' port that change something, or take a copy
 * of the process's memory.
 */
final class AccessValve extends ValveBase {
  private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS", "TRACE");
  private static final String REPOSITORY = "/actuator/repository";
  private static final String HEAP = "/actuator/heapdump";

  private final Access access;

  AccessValve(Access access) {
    super(true);
    this.access = access;
  }

  @Override
  public void invoke(Request request, Response response) throws IOException, ServletException {
    String path = request.getDecodedRequestURI();
    if (path == null // Tomcat has refused it already
        || (READING.contains(request.getMethod()) && !isAt(HEAP, path))) {
      getNext().invoke(request, response);
      return;
    }
    ApiCategory category =
        isAt(REPOSITORY, path) ? ApiCategory.MODEL_REPOSITORY : ApiCategory.CONTROL;
    Admitted admitted;
    try {
      admitted =
          access.admit(
              category, true, request.getMethod() + " " + path, ServletCredentials.of(request));
    } catch (StatusException e) {
      int code = WireStatus.httpCode(e.getStatus().getCode().value());
      if (code == WireStatus.UNAUTHENTICATED.httpCode()) {
        response.setHeader("WWW-Authenticate", "Bearer");
      }
      JsonReply.error(response.getResponse(), code, String.valueOf(e.getStatus().getDescription()));
      return;
    }
    try (Caller.Scope scope = Caller.current().known(admitted.name(), admitted.sealed()).enter()) {
      getNext().invoke(request, response);
    }
  }

  private static boolean isAt(String endpoint, String path) {
    return path.equals(endpoint) || path.startsWith(endpoint + "/");
  }
}
