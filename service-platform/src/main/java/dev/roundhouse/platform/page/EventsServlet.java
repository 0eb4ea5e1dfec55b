package dev.roundhouse.platform.page;

import dev.roundhouse.platform.rest.JsonReply;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.Semaphore;

/**
 * {@code /ui/events}: server-sent events until the page is closed or the process stops. At most
 * {@value #MOST_PAGES} pages are served at once.
 */
public abstract class EventsServlet extends HttpServlet {
  private static final int MOST_PAGES = 8;

  /** Of {@code Sec-Fetch-Site}: a page of ours, or a person who typed the address. */
  private static final Set<String> OWN = Set.of("same-origin", "none");

  private final transient Semaphore pages = new Semaphore(MOST_PAGES);

  /** Sends events until there are no more; an exception means that the page has been closed. */
  protected abstract void send(HttpServletRequest request, HttpServletResponse response)
      throws IOException;

  /** Says that events follow. */
  protected static void begin(HttpServletResponse response) {
    response.setContentType("text/event-stream");
    response.setCharacterEncoding(StandardCharsets.UTF_8.name());
    response.setHeader("X-Accel-Buffering", "no"); // nginx would hold events back
  }

  /** That of the superclass would do all of a GET, which does not end. */
  @Override
  protected void doHead(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    response.setHeader("Allow", "GET");
    JsonReply.error(
        response, HttpServletResponse.SC_METHOD_NOT_ALLOWED, "events are read with GET");
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    PageHeaders.add(response);
    String site = request.getHeader("Sec-Fetch-Site");
    if (site != null && !OWN.contains(site)) {
      JsonReply.error(
          response,
          HttpServletResponse.SC_FORBIDDEN,
          "Sec-Fetch-Site is '%s': events are for the page that this port serves"
              .formatted(site.replaceAll("[^a-z-]", "?")));
      return;
    }
    if (!pages.tryAcquire()) {
      JsonReply.error(
          response,
          HttpServletResponse.SC_SERVICE_UNAVAILABLE,
          "%d pages are open, and no more are served at once; close one, or hide it: a hidden page reads nothing"
              .formatted(MOST_PAGES));
      return;
    }
    try {
      send(request, response);
    } catch (IOException closed) {
      // which is how a page ends
    } finally {
      pages.release();
    }
  }
}
