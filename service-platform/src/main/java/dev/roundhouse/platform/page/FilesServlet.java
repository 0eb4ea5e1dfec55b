package dev.roundhouse.platform.page;

import dev.roundhouse.platform.rest.JsonReply;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code /ui/}: the page's files, read from the jar once. */
final class FilesServlet extends HttpServlet {
  private static final String INDEX = "index.html";

  static final List<String> NAMES =
      List.of(
          INDEX,
          "page.css",
          "icon.svg",
          "page.js",
          "actions.js",
          "address.js",
          "device.js",
          "facts.js",
          "feed.js",
          "format.js",
          "gateway.js",
          "latency.js",
          "model.js",
          "models.js",
          "node.js",
          "reading.js",
          "recording.js",
          "repository.js",
          "table.js",
          "timeline.js",
          "token.js",
          "trace.js");

  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "svg", "image/svg+xml");

  private final transient Map<String, byte[]> files = new HashMap<>();

  FilesServlet() {
    NAMES.forEach(name -> files.put(name, read(name)));
  }

  private static byte[] read(String name) {
    try (InputStream in = FilesServlet.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new FileNotFoundException(name + " of the live page is not in this jar");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    PageHeaders.add(response);
    String path = request.getPathInfo();
    if (path == null) { // the page's files are beside it, which a browser sees by the slash
      response.setStatus(HttpServletResponse.SC_FOUND);
      response.setHeader("Location", "ui/");
      return;
    }
    String name = path.equals("/") ? INDEX : path.substring(1);
    byte[] bytes = files.get(name);
    if (bytes == null) {
      JsonReply.error(
          response,
          HttpServletResponse.SC_NOT_FOUND,
          "the live page is at /ui/, and has no such file");
      return;
    }
    response.setContentType(TYPES.get(name.substring(name.lastIndexOf('.') + 1)));
    response.setContentLength(bytes.length);
    response.getOutputStream().write(bytes);
  }
}
