package dev.roundhouse.platform.page;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.rest.Json;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Predicate;
import tools.jackson.core.JsonGenerator;

/** The events of this process's own {@link PageFeed}, one a second. */
final class FeedServlet extends EventsServlet {
  private static final Duration EVERY = Duration.ofSeconds(1);

  private final transient PageFeed feed;
  private final transient PageEnd end;
  private final transient Access access;

  FeedServlet(PageFeed feed, PageEnd end, Access access) {
    this.feed = feed;
    this.end = end;
    this.access = access;
  }

  @Override
  protected void send(HttpServletRequest request, HttpServletResponse response) throws IOException {
    begin(response);
    OutputStream out = response.getOutputStream();
    PageFeed.Reader reader = feed.open(Changes.of(access, request));
    write(out, "begin", told(reader::begin));
    boolean over;
    do {
      boolean all = write(out, "moment", reader::next);
      over = end.await(all ? EVERY : Duration.ZERO);
    } while (!over);
    write(out, "end", told(JsonGenerator::writeNull));
  }

  private static Predicate<JsonGenerator> told(Consumer<JsonGenerator> data) {
    return json -> {
      data.accept(json);
      return true;
    };
  }

  /** Writes an event; returns what {@code data} does. */
  private static boolean write(OutputStream out, String event, Predicate<JsonGenerator> data)
      throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(("event: " + event + "\ndata: ").getBytes(StandardCharsets.UTF_8));
    boolean result;
    try (JsonGenerator json = Json.generator(bytes)) {
      result = data.test(json);
    }
    bytes.writeBytes("\n\n".getBytes(StandardCharsets.UTF_8));
    bytes.writeTo(out);
    out.flush();
    return result;
  }
}
