package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.worker.transport.ClientText;
import dev.roundhouse.worker.transport.rest.ContentCoding.UnknownCodingException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** How a request that has a route is refused: in the protocol's words. */
@RestControllerAdvice(basePackageClasses = RestErrors.class)
final class RestErrors {
  private static final Logger log = LoggerFactory.getLogger(RestErrors.class);

  private final ClientText texts;

  RestErrors(ClientText texts) {
    this.texts = texts;
  }

  @ExceptionHandler
  void refused(WireException refusal, HttpServletResponse response) throws IOException {
    JsonReply.error(response, refusal.status().httpCode(), texts.of(refusal.text()));
  }

  /** Says what the client may use instead, in the header that is for that. */
  @ExceptionHandler
  void refused(UnknownCodingException refusal, HttpServletResponse response) throws IOException {
    response.setHeader(HttpHeaders.ACCEPT_ENCODING, ContentCoding.SUPPORTED);
    WireException told =
        new WireException(WireStatus.UNIMPLEMENTED, String.valueOf(refusal.getMessage()));
    JsonReply.error(response, told.status().httpCode(), told.text());
  }

  /** The connection is gone, or what came by it was no HTTP. */
  @ExceptionHandler
  void unreadable(IOException failure, HttpServletResponse response) throws IOException {
    log.debug("a request could not be read, or its answer not be written", failure);
    if (response.isCommitted()) {
      throw failure; // ends the connection, so that nobody takes a part for the whole
    }
    JsonReply.error(
        response, WireStatus.INVALID_ARGUMENT.httpCode(), "the request's body could not be read");
  }

  @ExceptionHandler
  void failed(Exception failure, HttpServletResponse response) throws Exception {
    log.error("a request failed unexpectedly", failure);
    if (response.isCommitted()) {
      throw failure; // ends the connection, so that nobody takes a part for the whole
    }
    JsonReply.error(
        response, WireStatus.INTERNAL.httpCode(), "Internal server error; see the server's log");
  }
}
