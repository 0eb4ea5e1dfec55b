package dev.roundhouse.platform.rest;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.boot.webmvc.error.ErrorController;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Where the container sends what has no route, {@code Not Found}, or has one by another method,
 * {@code Method Not Allowed}.
 */
@RestController
public final class UnroutedController implements ErrorController {

  @RequestMapping("${server.error.path:${error.path:/error}}")
  void unrouted(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Object code = request.getAttribute(RequestDispatcher.ERROR_STATUS_CODE);
    HttpStatus status = code instanceof Integer known ? HttpStatus.resolve(known) : null;
    HttpStatus told = status == null ? HttpStatus.NOT_FOUND : status;
    JsonReply.error(response, told.value(), told.getReasonPhrase());
  }
}
