package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.kserve.codec.ParameterValue.Flag;
import dev.roundhouse.kserve.codec.ParameterValue.Real;
import dev.roundhouse.kserve.codec.ParameterValue.Signed;
import dev.roundhouse.kserve.codec.ParameterValue.Text;
import dev.roundhouse.kserve.codec.ParameterValue.Unsigned;
import dev.roundhouse.kserve.status.WireException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What each parameter means, whatever transport it came by. */
class ParametersTest {

  @Test
  void shouldRefuseAsTritonDoesWhatMeansNothingHere() {
    Parameters.check(
        Map.of("mine", new Text(""), "triton_enable_empty_final_response", new Flag(true)));
    assertThatThrownBy(() -> Parameters.check(Map.of("mine", ParameterValue.UNSET)))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("invalid value type for 'mine' parameter")
        .hasMessageEndingWith("got no value");
    assertThatThrownBy(
            () -> Parameters.check(Map.of("triton_enable_empty_final_response", new Text("true"))))
        .hasMessageContaining("expected bool_param but got string_param");
    assertThatThrownBy(() -> Parameters.check(Map.of("triton_mine", new Flag(true))))
        .hasMessageContaining("is reserved for Triton usage");
  }

  @Test
  void shouldReadThePriorityOfEitherType() {
    assertThat(Parameters.priority(Map.of())).isZero();
    assertThat(Parameters.priority(Map.of("priority", new Signed(3)))).isEqualTo(3);
    assertThatThrownBy(() -> Parameters.priority(Map.of("priority", new Signed(-3))))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("'priority' parameter, expected 0 or more but got -3");
    assertThat(Parameters.priority(Map.of("priority", new Unsigned(7)))).isEqualTo(7);
    assertThat(Parameters.priority(Map.of("priority", new Unsigned(-1)))).isZero();
    assertThatThrownBy(() -> Parameters.priority(Map.of("priority", new Text("3"))))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("int64_param or uint64_param but got string_param");
  }

  @Test
  void shouldReadATimeoutInMicroseconds() {
    assertThat(Parameters.queueTimeoutNanos(Map.of())).isZero();
    assertThat(Parameters.queueTimeoutNanos(Map.of("timeout", new Signed(0)))).isZero();
    assertThat(Parameters.queueTimeoutNanos(Map.of("timeout", new Signed(5)))).isEqualTo(5_000);
    assertThatThrownBy(() -> Parameters.queueTimeoutNanos(Map.of("timeout", new Signed(-1))))
        .hasMessageContaining("parameter 'timeout' is -1 us");
    assertThatThrownBy(() -> Parameters.queueTimeoutNanos(Map.of("timeout", new Unsigned(5))))
        .hasMessageContaining("got uint64_param");
  }

  @Test
  void shouldReadTheBudgetThatIsLeft() {
    Map<String, ParameterValue> none = Map.of();
    assertThat(Parameters.timeoutNanos(none)).isEqualTo(RequestOptions.NO_TIMEOUT);
    assertThat(Parameters.timeoutNanos(Map.of("reactant_timeout_ns", new Signed(0))))
        .isEqualTo(RequestOptions.NO_TIMEOUT);
    assertThat(Parameters.timeoutNanos(Map.of("reactant_timeout_ns", new Signed(1)))).isEqualTo(1);
  }

  @Test
  void shouldSayWhetherTimingsAreWanted() {
    assertThat(Parameters.options(Map.of()).wantsTimings()).isFalse();
    assertThat(Parameters.options(Map.of("roundhouse_receipt", new Flag(false))).wantsReceipt())
        .isFalse();
    assertThat(Parameters.options(Map.of("roundhouse_receipt", new Flag(true))).wantsReceipt())
        .isTrue();
    assertThat(Parameters.options(Map.of("roundhouse_timings", new Flag(false))).wantsTimings())
        .isFalse();
    assertThat(Parameters.options(Map.of("roundhouse_timings", new Flag(true))).wantsTimings())
        .isTrue();
  }

  @Test
  void shouldGiveAModelWhatIsNeitherTritonsNorOurs() {
    Map<String, ParameterValue> parameters = new HashMap<>();
    parameters.put("style", new Text("short"));
    parameters.put("loud", new Flag(true));
    parameters.put("top", new Signed(-3));
    parameters.put("most", new Unsigned(Long.MAX_VALUE));
    parameters.put("heat", new Real(0.5));
    Map<String, Object> own =
        Map.of("style", "short", "loud", true, "top", -3L, "most", Long.MAX_VALUE, "heat", 0.5);
    assertThat(Parameters.options(parameters).parameters()).isEqualTo(own);
    parameters.put("priority", new Signed(1));
    parameters.put("timeout", new Signed(1));
    parameters.put("reactant_timeout_ns", new Signed(1));
    parameters.put("sequence_id", new Signed(1));
    parameters.put("sequence_start", new Flag(true));
    parameters.put("sequence_end", new Flag(true));
    parameters.put("binary_data_output", new Flag(true));
    parameters.put("roundhouse_timings", new Flag(true));
    parameters.put("triton_enable_empty_final_response", new Flag(true));
    assertThat(Parameters.options(parameters).parameters()).isEqualTo(own);
    assertThat(Parameters.options(Map.of())).isSameAs(RequestOptions.DEFAULT);
    assertThat(Parameters.options(Map.of("priority", new Signed(1))).parameters())
        .isSameAs(RequestOptions.DEFAULT.parameters());
  }

  @Test
  void shouldBoundWhatAModelIsGiven() {
    assertThatThrownBy(() -> Parameters.options(Map.of("most", new Unsigned(-1))))
        .isInstanceOf(WireException.class)
        .hasMessageContaining(
            "parameter 'most' is 18446744073709551615; a model is given whole numbers up to 9223372036854775807");
    Map<String, ParameterValue> many = new HashMap<>();
    for (int i = 0; i < 256; i++) {
      many.put("p" + i, new Signed(i));
    }
    assertThat(Parameters.options(many).parameters()).hasSize(256);
    many.put("priority", new Signed(1));
    assertThat(Parameters.options(many).parameters()).hasSize(256);
    many.put("p256", new Signed(256));
    assertThatThrownBy(() -> Parameters.options(many))
        .hasMessageContaining("the request has 257 parameters for its model, the limit is 256");
    assertThat(Parameters.options(Map.of("t", new Text("x".repeat(65_535)))).parameters())
        .hasSize(1);
    assertThatThrownBy(() -> Parameters.options(Map.of("t", new Text("x".repeat(65_536)))))
        .hasMessageContaining(
            "has 65537 characters of parameters for its model, the limit is 65536");
  }

  @Test
  void shouldReadASequenceByNumberOrText() {
    Flag yes = new Flag(true);
    assertThat(Parameters.sequence(Map.of("sequence_id", new Signed(4))))
        .isEqualTo(new SequenceStep(SequenceStep.Id.of(4), false, false));
    assertThat(Parameters.sequence(Map.of("sequence_id", new Unsigned(4), "sequence_start", yes)))
        .isEqualTo(new SequenceStep(SequenceStep.Id.of(4), true, false));
    assertThat(Parameters.sequence(Map.of("sequence_id", new Text("a"), "sequence_end", yes)))
        .isEqualTo(new SequenceStep(SequenceStep.Id.of("a"), false, true));
    assertThat(Parameters.sequence(Map.of("sequence_id", new Text("")))).isNull();
    assertThat(Parameters.sequence(Map.of("sequence_id", new Signed(0)))).isNull();
    assertThat(Parameters.sequence(Map.of("other", yes))).isNull();
    assertThatThrownBy(() -> Parameters.sequence(Map.of("sequence_id", new Real(4))))
        .hasMessageContaining("int64_param or string_param but got double_param");
    assertThatThrownBy(() -> Parameters.sequence(Map.of("sequence_end", yes)))
        .hasMessage("parameter 'sequence_end' needs a 'sequence_id' that is not 0 and not empty");
  }

  @Test
  void shouldReadHowManyClassesAreWanted() {
    assertThat(Parameters.classes(Map.of(), "y")).isZero();
    assertThat(Parameters.classes(Map.of("classification", new Signed(5)), "y")).isEqualTo(5);
    assertThatThrownBy(() -> Parameters.classes(Map.of("classification", new Signed(0)), "y"))
        .hasMessageContaining("expected > 0 but got 0 for output 'y'");
  }

  @Test
  void shouldReadWhereATensorLiesInSharedMemory() {
    Text region = new Text("r");
    assertThat(
            Parameters.region(
                Map.of(
                    "shared_memory_region",
                    region,
                    "shared_memory_offset",
                    new Signed(0),
                    "shared_memory_byte_size",
                    new Signed(8)),
                "x"))
        .isEqualTo(new RegionRange("r", 0, 8));
    assertThat(Parameters.region(Map.of(), "x")).isNull();
    assertThatThrownBy(
            () ->
                Parameters.region(
                    Map.of(
                        "shared_memory_region", region, "shared_memory_byte_size", new Signed(-1)),
                    "x"))
        .hasMessageContaining("'shared_memory_byte_size' of tensor 'x' is -1");
  }
}
