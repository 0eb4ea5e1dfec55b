package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.recording.RecordingEndpoint;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.InputStreamResource;
import org.springframework.core.io.Resource;
import org.springframework.http.MediaType;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * {@code /actuator/recording}: has one worker record itself with Flight Recorder and passes on what
 * it answers.
 */
@Endpoint(id = "recording")
public final class WorkersRecording {
  private static final String PATH = "/actuator/recording";

  private static final Duration RECORDS = Duration.ofSeconds(RecordingEndpoint.MOST_SECONDS);

  /** Within which the caller must have read the recording. */
  private static final Duration PASSES = Duration.ofSeconds(60);

  private final AnsweredFor others;

  public WorkersRecording(AnsweredFor others) {
    this.others = others;
  }

  /**
   * Records at a worker.
   *
   * @param worker null where there is one only
   */
  @WriteOperation
  public WebEndpointResponse<Resource> record(@Nullable Integer seconds, @Nullable String worker) {
    List<OperatorsPort> workers =
        others.ports().now().stream().filter(OperatorsPort::isWorker).toList();
    List<OperatorsPort> named =
        workers.stream().filter(each -> worker == null || each.name().equals(worker)).toList();
    if (named.size() != 1) {
      String names = workers.stream().map(OperatorsPort::name).collect(Collectors.joining(", "));
      return WorkersQuestion.refusal(
          404,
          worker == null
              ? "one worker records at a time: name it with ?worker=, of " + names
              : "there is no worker '%s'; there are %s".formatted(worker, names));
    }
    return pass(named.getFirst(), seconds);
  }

  private WebEndpointResponse<Resource> pass(OperatorsPort worker, @Nullable Integer seconds) {
    Audit.record("recording at worker '%s' asked for".formatted(worker.name()));
    byte[] json =
        JsonNodeFactory.instance
            .objectNode()
            .put("seconds", seconds)
            .toString()
            .getBytes(StandardCharsets.UTF_8);
    try {
      HttpResponse<InputStream> said =
          others.client().openTold(worker, PATH, json, RECORDS.plus(others.settings().timeout()));
      InputStream body = said.body();
      CompletableFuture.delayedExecutor(PASSES.toSeconds(), TimeUnit.SECONDS)
          .execute(() -> close(body));
      return new WebEndpointResponse<>(
          new InputStreamResource(body),
          said.statusCode(),
          said.statusCode() == 200
              ? MediaType.APPLICATION_OCTET_STREAM
              : MediaType.APPLICATION_JSON);
    } catch (IOException e) {
      return WorkersQuestion.refusal(
          502, "worker '%s' has recorded nothing: %s".formatted(worker.name(), e.getMessage()));
    }
  }

  /** Ends the reading of a caller that is too slow: reading has no limit of its own. */
  private static void close(InputStream body) {
    try {
      body.close();
    } catch (IOException closed) {
      // which is what was wanted
    }
  }
}
