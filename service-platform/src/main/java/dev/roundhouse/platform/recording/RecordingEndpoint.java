package dev.roundhouse.platform.recording;

import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.page.PageEnd;
import dev.roundhouse.platform.rest.JsonReply;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.InputStreamResource;
import org.springframework.core.io.Resource;
import org.springframework.http.MediaType;

/**
 * {@code /actuator/recording}: records the next seconds with Flight Recorder and answers with the
 * file. One at a time, until the process stops. Until the first is asked for, nothing of it is
 * there.
 */
@Endpoint(id = "recording")
public final class RecordingEndpoint {
  /** Seconds of the longest one. */
  public static final int MOST_SECONDS = 60;

  private static final int DEFAULT_SECONDS = 10;

  private final PageEnd end;
  private final Semaphore one = new Semaphore(1);

  public RecordingEndpoint(PageEnd end) {
    this.end = end;
  }

  /**
   * Records, and answers when that is over.
   *
   * @param seconds null for {@value #DEFAULT_SECONDS}
   */
  @WriteOperation
  public WebEndpointResponse<Resource> record(@Nullable Integer seconds) {
    int length = seconds == null ? DEFAULT_SECONDS : seconds;
    if (length < 1 || length > MOST_SECONDS) {
      return refused(
          400,
          "seconds is %d and can be 1 to %d; jcmd's JFR.start takes longer recordings"
              .formatted(length, MOST_SECONDS));
    }
    if (!one.tryAcquire()) {
      return refused(
          409,
          "a recording is under way and takes up to %d s; ask again after it"
              .formatted(MOST_SECONDS));
    }
    try {
      InputStream recorded = FlightRecording.take(Duration.ofSeconds(length), this::await);
      return new WebEndpointResponse<>(
          new InputStreamResource(recorded), 200, MediaType.APPLICATION_OCTET_STREAM);
    } catch (IOException | RuntimeException e) {
      return refused(
          503,
          "Flight Recorder has not recorded: %s; its files are in %s"
              .formatted(e.getMessage(), System.getProperty("java.io.tmpdir")));
    } finally {
      one.release();
    }
  }

  private void await(Duration length) {
    Audit.record("recording of %d s has begun".formatted(length.toSeconds()));
    end.await(length);
  }

  private static WebEndpointResponse<Resource> refused(int status, String error) {
    return new WebEndpointResponse<>(
        new ByteArrayResource(JsonReply.error(error)), status, MediaType.APPLICATION_JSON);
  }
}
