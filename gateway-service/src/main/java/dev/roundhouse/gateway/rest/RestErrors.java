package dev.roundhouse.gateway.rest;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.JsonReply;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** How a request that has a route is refused: in the protocol's words. */
@RestControllerAdvice(basePackageClasses = RestErrors.class)
final class RestErrors {
  private static final Logger log = LoggerFactory.getLogger(RestErrors.class);

  @ExceptionHandler
  void refused(StatusException refusal, HttpServletResponse response) throws IOException {
    refuse(refusal.getStatus(), response);
  }

  @ExceptionHandler
  void refused(StatusRuntimeException refusal, HttpServletResponse response) throws IOException {
    refuse(refusal.getStatus(), response);
  }

  @ExceptionHandler
  void failed(CompletionException failure, HttpServletResponse response) throws Exception {
    switch (failure.getCause()) {
      case StatusRuntimeException told -> refuse(told.getStatus(), response);
      case StatusException told -> refuse(told.getStatus(), response);
      case null, default -> failed((Exception) failure, response);
    }
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
        response, WireStatus.INTERNAL.httpCode(), "Internal server error; see the gateway's log");
  }

  private static void refuse(Status status, HttpServletResponse response) throws IOException {
    String text = status.getDescription();
    JsonReply.error(response, code(status), text == null ? status.getCode().name() : text);
  }

  private static int code(Status status) {
    for (WireStatus known : WireStatus.values()) {
      if (known.grpcCode() == status.getCode().value()) {
        return known.httpCode();
      }
    }
    return WireStatus.UNKNOWN.httpCode();
  }
}
