package dev.roundhouse.platform.telemetry;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of spans that cannot be sent. */
class SpanSenderTest {
  private static final int MOST_WAITING = 2;

  private final Taking collector = new Taking();
  private final TraceContexts contexts = new TraceContexts(1);

  /** Never started: the test sends. */
  private final SpanSender sender =
      new SpanSender(
          collector, new SpanWriter(Resource.getDefault()), MOST_WAITING, Duration.ofSeconds(1));

  @AfterEach
  void close() {
    sender.close();
  }

  @Test
  void shouldDropWhatDoesNotFitTheQueue() {
    for (int i = 0; i < MOST_WAITING + 3; i++) {
      sender.offer(this::tell);
    }
    assertThat(sender.dropped()).isEqualTo(3);
    sender.send();
    assertThat(sender.exported()).isEqualTo(MOST_WAITING);
    sender.offer(this::tell);
    sender.send();
    assertThat(sender.exported()).isEqualTo(MOST_WAITING + 1);
    assertThat(sender.dropped()).isEqualTo(3);
  }

  @Test
  void shouldCountAsDroppedWhatTheCollectorRefuses() {
    collector.answer = CompletableResultCode.ofFailure();
    sender.offer(this::tell);
    sender.send();
    assertThat(sender.dropped()).isEqualTo(1);
    collector.answer = CompletableResultCode.ofSuccess();
    sender.offer(this::tell);
    sender.send();
    assertThat(sender.exported()).isEqualTo(1);
    assertThat(collector.messages.getLast()).as("nothing is sent twice").hasSize(1);
  }

  @Test
  void shouldGoOnAfterARequestThatCannotBeTold() {
    sender.offer(
        to -> {
          throw new OutOfMemoryError("a fault of the test's");
        });
    sender.send();
    assertThat(sender.dropped()).isEqualTo(1);
    sender.offer(this::tell);
    sender.send();
    assertThat(sender.exported()).isEqualTo(1);
  }

  @Test
  void shouldLetRequestsOfOneSendingKnowWhichRunsTheyShared() {
    Joining first = new Joining(own());
    Joining second = new Joining(own());
    sender.offer(first);
    sender.offer(second);
    sender.send();
    assertThat(first.others).containsExactly(second.own);
    assertThat(second.others).containsExactly(first.own);
    Joining later = new Joining(own());
    sender.offer(later);
    sender.send();
    assertThat(later.others).isEmpty();
  }

  @Test
  void shouldSendARequestThatCannotSayWhatItShared() {
    sender.offer(
        new EndedRequest() {
          @Override
          public void join(SharedRuns runs) {
            throw new OutOfMemoryError("a fault of the test's");
          }

          @Override
          public void tell(SpanWriter to) {
            SpanSenderTest.this.tell(to);
          }
        });
    sender.offer(this::tell);
    sender.send();
    sender.send();
    assertThat(sender.exported()).isEqualTo(2);
    assertThat(sender.dropped()).isZero();
  }

  private SpanContext own() {
    return requireNonNull(contexts.request(SpanContext.getInvalid()));
  }

  private static final class Joining implements EndedRequest {
    final SpanContext own;
    List<SpanContext> others = List.of();

    Joining(SpanContext own) {
      this.own = own;
    }

    @Override
    public void join(SharedRuns runs) {
      runs.add("the only run", own);
    }

    @Override
    public void tell(SpanWriter to) {
      others = to.runs().others("the only run", own);
    }
  }

  private void tell(SpanWriter to) {
    to.begin(own(), SpanContext.getInvalid(), SpanKind.SERVER, "infer m", 1).end(2);
  }

  private static final class Taking implements SpanExporter {
    final List<Collection<SpanData>> messages = new ArrayList<>();
    CompletableResultCode answer = CompletableResultCode.ofSuccess();

    @Override
    public CompletableResultCode export(Collection<SpanData> spans) {
      messages.add(spans);
      return answer;
    }

    @Override
    public CompletableResultCode flush() {
      return CompletableResultCode.ofSuccess();
    }

    @Override
    public CompletableResultCode shutdown() {
      return CompletableResultCode.ofSuccess();
    }
  }
}
