package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.rest.JsonReply;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.io.StringWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.InputStreamResource;
import org.springframework.core.io.Resource;
import org.springframework.http.MediaType;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** A question of an operator's that every worker, or one of them, is asked over its own port. */
final class WorkersQuestion {
  static final int NOT_FOUND = 404;
  private static final JsonFactory JSON = new JsonFactory();

  private final AnsweredFor others;

  WorkersQuestion(AnsweredFor others) {
    this.others = others;
  }

  /**
   * Asks.
   *
   * @param worker null for all
   * @return null when there is no worker of that name
   */
  @Nullable List<Answer<AskedJson>> ask(
      String path, @Nullable String worker, OperatorsClient.Reader<AskedJson> reader)
      throws IOException {
    List<OperatorsPort> asked = named(worker);
    if (worker != null && asked.isEmpty()) {
      return null;
    }
    try {
      return others
          .client()
          .ask(asked, path, MediaType.APPLICATION_JSON_VALUE, others.settings().timeout(), reader);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while workers were asked", e);
    }
  }

  /**
   * Tells to make a change.
   *
   * @param worker null for all
   * @param besides the usual time
   * @return null when there is no worker of that name
   */
  @Nullable List<Answer<byte[]>> tell(
      String path, @Nullable String worker, byte[] json, Duration besides) throws IOException {
    List<OperatorsPort> told = named(worker);
    if (worker != null && told.isEmpty()) {
      return null;
    }
    try {
      return others.client().tell(told, path, json, others.settings().timeout().plus(besides));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while workers were told", e);
    }
  }

  private List<OperatorsPort> named(@Nullable String worker) {
    return workers().stream().filter(port -> worker == null || port.name().equals(worker)).toList();
  }

  SpoolMemory memory() {
    return others.client().memory();
  }

  private List<OperatorsPort> workers() {
    return others.ports().now().stream().filter(OperatorsPort::isWorker).toList();
  }

  WebEndpointResponse<Resource> noWorker(String worker) {
    String all = workers().stream().map(OperatorsPort::name).collect(Collectors.joining(", "));
    return refusal(
        "there is no worker '%s'; there %s"
            .formatted(worker, all.isEmpty() ? "are none" : "are " + all));
  }

  static WebEndpointResponse<Resource> refusal(String text) {
    return refusal(NOT_FOUND, text);
  }

  static WebEndpointResponse<Resource> refusal(int status, String text) {
    return json(status, List.of(new ByteArrayInputStream(JsonReply.error(text))));
  }

  /** A name as it stands in a path. */
  static String encoded(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** How a worker answered, as the beginning of an object that is still open. */
  static String opened(Answer<?> answer) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), text)) {
      json.writeStartObject();
      json.writeStringProperty("worker", answer.port().name());
      json.writeBooleanProperty("answered", answer.value() != null || answer.status() == NOT_FOUND);
      json.writeStringProperty("failure", answer.value() == null ? answer.failure() : null);
      json.writeNumberProperty("seconds", answer.seconds());
      json.writeEndObject();
    }
    return text.toString().substring(0, text.toString().length() - 1);
  }

  static InputStream text(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  /** An answer that is read once. */
  static WebEndpointResponse<Resource> json(int status, List<InputStream> parts) {
    InputStream all = new SequenceInputStream(Collections.enumeration(new ArrayList<>(parts)));
    return new WebEndpointResponse<>(
        new InputStreamResource(all), status, MediaType.APPLICATION_JSON);
  }
}
