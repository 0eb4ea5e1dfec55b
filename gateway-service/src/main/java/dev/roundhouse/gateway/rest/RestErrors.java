package dev.roundhouse.gateway.rest;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.JsonReply;
import dev.roundhouse.platform.rest.RestFailures;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.CompletionException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** How a request that has a route is refused: in the protocol's words. */
@RestControllerAdvice(basePackageClasses = RestErrors.class)
final class RestErrors extends RestFailures {
  @ExceptionHandler
  void refused(StatusException refusal, HttpServletResponse response) throws IOException {
    refuse(refusal.getStatus(), response);
  }

  @ExceptionHandler
  void refused(StatusRuntimeException refusal, HttpServletResponse response) throws IOException {
    refuse(refusal.getStatus(), response);
  }

  @ExceptionHandler
  void failed(CompletionException failure, HttpServletRequest request, HttpServletResponse response)
      throws Exception {
    switch (failure.getCause()) {
      case StatusRuntimeException told -> refuse(told.getStatus(), response);
      case StatusException told -> refuse(told.getStatus(), response);
      case null, default -> failed((Exception) failure, request, response);
    }
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
