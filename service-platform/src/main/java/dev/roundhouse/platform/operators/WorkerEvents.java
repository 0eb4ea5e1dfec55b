package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.page.Changes;
import dev.roundhouse.platform.page.EventsServlet;
import dev.roundhouse.platform.page.PageEnd;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonReply;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import tools.jackson.core.JsonGenerator;

/**
 * The events of a worker's live page, passed on as they come; to a page that has not chosen a
 * worker, one event that says what this process is and one that names its workers.
 */
final class WorkerEvents extends EventsServlet {
  private static final String PATH = "/ui/events";
  private static final Duration LOOK = Duration.ofSeconds(1);

  /** A worker that says nothing for so long hangs, or its machine is gone. */
  private static final long SILENCE_NANOS = Duration.ofSeconds(10).toNanos();

  private final transient AnsweredFor others;
  private final transient Access access;
  private final transient PageEnd end;

  /**
   * @param access who may change something at this port
   */
  WorkerEvents(AnsweredFor others, Access access, PageEnd end) {
    this.others = others;
    this.access = access;
    this.end = end;
  }

  @Override
  protected void send(HttpServletRequest request, HttpServletResponse response) throws IOException {
    List<OperatorsPort> workers =
        others.ports().now().stream().filter(OperatorsPort::isWorker).toList();
    String name = request.getParameter("worker");
    if (name == null) {
      begin(response);
      response
          .getOutputStream()
          .write(event("process", json -> writeProcess(Changes.of(access, request), json)));
      response.getOutputStream().write(event("workers", json -> writeNames(workers, json)));
      return;
    }
    OperatorsPort worker =
        workers.stream().filter(each -> each.name().equals(name)).findFirst().orElse(null);
    if (worker == null) {
      JsonReply.error(
          response, HttpServletResponse.SC_NOT_FOUND, "there is no worker '%s'".formatted(name));
      return;
    }
    InputStream events;
    try {
      events = others.client().open(worker, PATH, others.settings().timeout());
    } catch (IOException e) {
      JsonReply.error(
          response,
          HttpServletResponse.SC_BAD_GATEWAY,
          "worker '%s' does not show its page: %s".formatted(name, e.getMessage()));
      return;
    }
    try (events) {
      begin(response);
      pass(events, response.getOutputStream());
    }
  }

  private static byte[] event(String name, Consumer<JsonGenerator> data) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(("event: " + name + "\ndata: ").getBytes(StandardCharsets.UTF_8));
    try (JsonGenerator json = Json.generator(bytes)) {
      data.accept(json);
    }
    bytes.writeBytes("\n\n".getBytes(StandardCharsets.UTF_8));
    return bytes.toByteArray();
  }

  private void writeProcess(Changes changes, JsonGenerator json) {
    json.writeStartObject();
    json.writeStringProperty("process", others.process());
    changes.write(json);
    json.writeEndObject();
  }

  private static void writeNames(List<OperatorsPort> workers, JsonGenerator json) {
    json.writeStartArray();
    workers.forEach(worker -> json.writeString(worker.name()));
    json.writeEndArray();
  }

  private void pass(InputStream events, OutputStream page) throws IOException {
    AtomicLong heardNanos = new AtomicLong(System.nanoTime());
    Thread watch = Thread.ofVirtual().start(() -> closeAtEnd(events, heardNanos));
    try {
      byte[] part = new byte[8192];
      for (int length = events.read(part); length >= 0; length = events.read(part)) {
        heardNanos.set(System.nanoTime());
        page.write(part, 0, length);
        page.flush();
      }
    } finally {
      watch.interrupt();
    }
  }

  /** Reading has no limit of its own: it ends when what is read is closed. */
  private void closeAtEnd(InputStream events, AtomicLong heardNanos) {
    boolean over = false;
    while (!over && System.nanoTime() - heardNanos.get() < SILENCE_NANOS) {
      over = end.await(LOOK);
    }
    try {
      events.close();
    } catch (IOException closed) {
      // which is what was wanted
    }
  }
}
