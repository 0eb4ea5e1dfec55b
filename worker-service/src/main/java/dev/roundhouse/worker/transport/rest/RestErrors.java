package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.platform.rest.RestFailures;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.worker.transport.rest.ContentCoding.UnknownCodingException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** How a request that has a route is refused: in the protocol's words. */
@RestControllerAdvice(basePackageClasses = RestErrors.class)
final class RestErrors extends RestFailures {
  private final ClientText texts;

  RestErrors(ClientText texts) {
    this.texts = texts;
  }

  @ExceptionHandler
  void refused(WireException refusal, HttpServletResponse response) throws IOException {
    refusal.besides(response::setHeader);
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
}
