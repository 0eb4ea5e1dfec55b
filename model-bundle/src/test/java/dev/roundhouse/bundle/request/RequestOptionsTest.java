package dev.roundhouse.bundle.request;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RequestOptionsTest {

  @Test
  void shouldChangeOneThingAtATime() {
    SequenceStep step = new SequenceStep(SequenceStep.Id.of(4), true, false);
    assertThat(
            RequestOptions.DEFAULT
                .withTimeout(Duration.ofNanos(1))
                .withPriority(2)
                .withQueueTimeout(Duration.ofNanos(3))
                .withSequence(step))
        .isEqualTo(new RequestOptions(1, 2, 3, step, false));
  }

  @Test
  void shouldTakeWhatIsTooLongForAsLongAsItTakes() {
    assertThat(RequestOptions.DEFAULT.withTimeout(Duration.ofDays(200_000)))
        .isEqualTo(RequestOptions.DEFAULT);
  }

  @Test
  void shouldKeepForCallsAllButWhatIsTheRequestsOwn() {
    RequestOptions options =
        RequestOptions.DEFAULT.withTimeout(Duration.ofNanos(1)).withPriority(2);
    assertThat(options.ofCalls()).isSameAs(options);
    SequenceStep step = new SequenceStep(SequenceStep.Id.of(4), true, false);
    assertThat(options.withSequence(step).ofCalls()).isEqualTo(options);
    assertThat(new RequestOptions(1, 2, 0, null, true).ofCalls()).isEqualTo(options);
  }
}
