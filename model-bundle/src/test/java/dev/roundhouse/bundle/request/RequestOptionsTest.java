package dev.roundhouse.bundle.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
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
                .withSequence(step)
                .withTrace()
                .withParameters(Map.of("style", "short")))
        .isEqualTo(new RequestOptions(1, 2, 3, step, false, false, true, Map.of("style", "short")));
  }

  @Test
  void shouldTakeWhatIsTooLongForAsLongAsItTakes() {
    assertThat(RequestOptions.DEFAULT.withTimeout(Duration.ofDays(200_000)))
        .isEqualTo(RequestOptions.DEFAULT);
  }

  @Test
  void shouldKeepForCallsAllButWhatIsTheRequestsOwn() {
    Map<String, Object> own = Map.of("style", "short");
    RequestOptions options = new RequestOptions(1, 2, 3, null, false, true, true, own);
    assertThat(options.ofCalls()).isSameAs(options);
    SequenceStep step = new SequenceStep(SequenceStep.Id.of(4), true, false);
    assertThat(options.withSequence(step).ofCalls()).isEqualTo(options);
    assertThat(new RequestOptions(1, 2, 3, null, true, true, true, own).ofCalls())
        .isEqualTo(options);
  }

  @Test
  void shouldHoldOneEmptyMapForAllRequestsWithoutParameters() {
    RequestOptions options = RequestOptions.DEFAULT.withPriority(2).withTrace();
    assertThat(options.parameters()).isSameAs(RequestOptions.DEFAULT.parameters());
    assertThat(options.withParameters(new HashMap<>()).parameters())
        .isSameAs(RequestOptions.DEFAULT.parameters());
  }

  @Test
  void shouldKeepParametersOfFourTypesAsTheyWere() {
    Map<String, Object> values = new HashMap<>(Map.of("a", "text", "b", true, "c", 7L, "d", 0.5));
    RequestOptions options = RequestOptions.DEFAULT.withParameters(values);
    values.clear();
    assertThat(options.parameters())
        .isEqualTo(Map.of("a", "text", "b", true, "c", 7L, "d", 0.5))
        .isUnmodifiable();
    assertThatThrownBy(() -> RequestOptions.DEFAULT.withParameters(Map.of("e", 7)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'e'", "Integer");
  }
}
