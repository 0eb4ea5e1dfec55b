package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireStatus;
import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/** Refuses in JSON what Tomcat itself refuses, such as an invalid path. */
public final class JsonErrorValve extends ErrorReportValve {

  @Override
  protected void report(Request request, Response response, @Nullable Throwable failure) {
    int code = response.getStatus();
    if (code < WireStatus.INVALID_ARGUMENT.httpCode()
        || response.getContentWritten() > 0
        || !response.setErrorReported()) {
      return;
    }
    HttpStatus status = HttpStatus.resolve(code);
    try {
      JsonReply.error(
          response.getResponse(), code, status == null ? "refused" : status.getReasonPhrase());
      response.finishResponse();
    } catch (IOException e) {
      container.getLogger().debug("an error could not be reported", e);
    }
  }
}
