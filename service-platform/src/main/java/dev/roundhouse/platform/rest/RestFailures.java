package dev.roundhouse.platform.rest;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.logging.RequestIds;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** How requests are answered that failed for no reason that the protocol has. */
public abstract class RestFailures {
  private static final Logger log = LoggerFactory.getLogger(RestFailures.class);

  /** The connection is gone, or what came by it was no HTTP. */
  @ExceptionHandler
  public final void unreadable(IOException failure, HttpServletResponse response)
      throws IOException {
    log.debug("a request could not be read, or its answer not be written", failure);
    if (response.isCommitted()) {
      throw failure; // ends the connection, so that nobody takes a part for the whole
    }
    JsonReply.error(
        response, WireStatus.INVALID_ARGUMENT.httpCode(), "the request's body could not be read");
  }

  @ExceptionHandler
  public final void failed(
      Exception failure, HttpServletRequest request, HttpServletResponse response)
      throws Exception {
    RequestIds.with(
        (String) request.getAttribute(RequestIds.KEY),
        () -> log.error("a request failed unexpectedly", failure));
    if (response.isCommitted()) {
      throw failure; // ends the connection, so that nobody takes a part for the whole
    }
    JsonReply.error(
        response, WireStatus.INTERNAL.httpCode(), "Internal server error; see the server's log");
  }
}
