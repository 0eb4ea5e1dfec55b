package dev.roundhouse.simulation.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.Promises;
import dev.roundhouse.simulation.fleet.RowTag;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

class LedgerTest {
  private final FleetModel model =
      new FleetModel(0, "m", 1, List.of(1), new CostCurve(1_000_000, 0));
  private final Promises promises = new Promises();
  private final Ledger ledger =
      new Ledger(new Fleet(List.of(model)), List.of(model), new ManualClock(), promises);
  private final Call call = ledger.onArrival(model, 1, InferenceRequest.NO_DEADLINE);

  @Test
  void shouldAcceptTheAnswerWhenItWasMadeFromTheCallsOwnRows() {
    call.rowsRun = 1;
    answer(RowTag.answer(RowTag.of(call.id, 0), 0));
    assertThatCode(promises::check).doesNotThrowAnyException();
    assertThat(ledger.count(0, End.IN_TIME)).isEqualTo(1);
    assertThat(ledger.open()).isZero();
  }

  @Test
  void shouldNoticeWhenAnAnswerWasMadeFromAnotherRow() {
    call.rowsRun = 1;
    answer(RowTag.answer(RowTag.of(call.id, 1), 0));
    assertThatThrownBy(promises::check)
        .hasMessage("call 1 of model 'm' got an answer that was not made from its 1 rows");
  }

  @Test
  void shouldNoticeWhenAnAnswerComesWithoutARun() {
    answer(RowTag.answer(RowTag.of(call.id, 0), 0));
    assertThatThrownBy(promises::check).hasMessageContaining("not made from its 1 rows");
  }

  @Test
  void shouldLeaveACallOutWhenItArrivedBeforeCountingBegan() {
    Call over = ledger.onArrival(model, 1, InferenceRequest.NO_DEADLINE);
    ledger.onOutcome(over, Outcome.Cancelled.BY_CALLER);
    ledger.startCounting();
    Call counted = ledger.onArrival(model, 1, InferenceRequest.NO_DEADLINE);
    ledger.onOutcome(call, Outcome.Cancelled.BY_CALLER);
    ledger.onOutcome(counted, Outcome.Cancelled.BY_CALLER);
    Findings findings = ledger.findings("any");
    assertThat(findings.offered()).isEqualTo(1);
    assertThat(findings.count(End.CANCELLED)).isEqualTo(1);
    assertThat(ledger.count(0, End.CANCELLED)).as("what the engine counts too").isEqualTo(3);
  }

  @Test
  void shouldNoticeWhenACallEndsTwice() {
    ledger.onOutcome(call, Outcome.Cancelled.BY_CALLER);
    assertThatCode(promises::check).doesNotThrowAnyException();
    ledger.onOutcome(call, Outcome.Cancelled.BY_CALLER);
    assertThatThrownBy(promises::check).hasMessageStartingWith("call 1 ended twice");
  }

  private void answer(long value) {
    MemorySegment data = MemorySegment.ofArray(new long[] {value});
    OutputTensor output = new OutputTensor("answers", DType.I64, Shape.of(1, 1), data);
    call.onPart(new GivenAnswer(List.of(output)));
    call.onEnd(new Outcome.Completed("1", new Outcome.Timings(0, 0, 0, 0, 0, 0, 1, 0)));
  }

  private record GivenAnswer(List<OutputTensor> outputs) implements Answer {
    @Override
    public String modelVersion() {
      return "1";
    }

    @Override
    public void free() {}

    @Override
    public void close() {}
  }
}
