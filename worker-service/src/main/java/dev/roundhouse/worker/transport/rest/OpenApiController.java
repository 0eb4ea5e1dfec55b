package dev.roundhouse.worker.transport.rest;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** The description of the protocol's routes, for tools that make clients or tests of it. */
@RestController
final class OpenApiController {
  private final byte[] document;

  OpenApiController() throws IOException {
    try (InputStream in = OpenApiController.class.getResourceAsStream("openapi.json")) {
      document = Objects.requireNonNull(in, "openapi.json").readAllBytes();
    }
  }

  @GetMapping("/v2/openapi.json")
  void document(HttpServletResponse response) throws IOException {
    response.setContentType(MediaType.APPLICATION_JSON_VALUE);
    response.setContentLength(document.length);
    response.getOutputStream().write(document);
  }
}
