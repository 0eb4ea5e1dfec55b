package dev.roundhouse.platform.payload;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Copies of requests and answers for a collector, as CloudEvents over HTTP in the way of KServe's
 * request logger ([payload-log.md](payload-log.md)).
 *
 * @param url Where events are sent by POST, such as `http://collector:8080/`, or `https://...`.
 *     Empty: nothing is sent.
 * @param mode `all` sends requests and their answers, `request` and `response` one of both.
 * @param models Models whose requests are sent; a `*` at the end stands for any rest.
 * @param sampleRatio Part of their requests that are sent.
 * @param source `ce-source` of the events. Empty: `roundhouse-worker` or `roundhouse-gateway`.
 * @param inferenceService `ce-inferenceservicename`. Empty: without.
 * @param namespace `ce-namespace`. Empty: without.
 * @param component `ce-component`. Empty: without.
 * @param endpoint `ce-endpoint`. Empty: without.
 * @param maxPayload Of the tensors of a request together, and as much of those of its answer; those
 *     that have no room are left out, and named in the document. A request or an answer that a
 *     gateway passes on whole is left out if it is larger.
 * @param maxWaiting Of all events that wait to be sent together; those beyond are dropped, and
 *     counted in `roundhouse_payloads_dropped_total`.
 * @param timeout Of one attempt to send one, until all of the answer has come.
 * @param attempts To send one, until it is dropped.
 * @param threads That send, one event at a time each. With one, events are sent in order.
 * @param sslBundle `spring.ssl.bundle` with what to trust, and what to show, over `https`. Empty:
 *     what the JVM trusts.
 */
public record PayloadLogProperties(
    @DefaultValue("") String url,
    @DefaultValue("all") Mode mode,
    @DefaultValue("*") List<String> models,
    @DecimalMin("0") @DecimalMax("1") @DefaultValue("1") double sampleRatio,
    @DefaultValue("") String source,
    @DefaultValue("") String inferenceService,
    @DefaultValue("") String namespace,
    @DefaultValue("") String component,
    @DefaultValue("") String endpoint,
    @DataSizeRange(min = "1B", max = "16MB") @DefaultValue("64KB") DataSize maxPayload,
    @DataSizeRange(min = "64KB", max = "16GB") @DefaultValue("32MB") DataSize maxWaiting,
    @DurationMin(millis = 10) @DurationMax(minutes = 5) @DefaultValue("10s") Duration timeout,
    @Min(1) @Max(10) @DefaultValue("3") int attempts,
    @Min(1) @Max(32) @DefaultValue("1") int threads,
    @DefaultValue("") String sslBundle) {

  /** What is sent. */
  public enum Mode {
    ALL,
    REQUEST,
    RESPONSE
  }

  public PayloadLogProperties {
    models = List.copyOf(models);
  }

  public boolean isOn() {
    return !url.isEmpty();
  }
}
