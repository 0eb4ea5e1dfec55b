package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.thread.OwnerThread;
import dev.roundhouse.engine.time.ManualClock;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The one way a request ends: once, counted, with its bytes and its answer given back. */
class AccountingTest {
  private static final Outcome.Completed COMPLETED =
      new Outcome.Completed("1", new Outcome.Timings(0, 0, 0, 0, 0, 0, 1, 0));
  private static final Outcome.Failed FAILED = new Outcome.Failed(Status.INTERNAL, "no");
  private static final int INPUT = 10;
  private static final int ANSWER = 100;
  private static final int VARIANT = 3;

  private final ByteBudget budget = new ByteBudget(1_000, "a limit");
  private final ManualClock clock = new ManualClock(0);
  private final QueueShares shares = new QueueShares();
  private final Accounting accounting = new Accounting(budget, clock, shares);
  private final Accounting owned = accounting.ownedBy(Ledger.ownedBy(new OwnerThread()));
  private final ModelCounters counters = new ModelCounters();
  private final Recorder recorder = new Recorder();
  private final RecordedAnswer answer = new RecordedAnswer();

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldEndARequestOnceWithItsAnswer(boolean onDispatch) {
    QueuedRequest request = taken();
    assertThat(complete(onDispatch, request)).isTrue();
    assertThat(recorder.parts).containsExactly(answer);
    assertThat(recorder.outcomes).containsExactly(COMPLETED);
    assertThat(counters.get(Metric.COMPLETED)).isEqualTo(1);
    assertThat(budget.held()).as("until the answer is closed").isEqualTo(ANSWER);
    assertThat(answer.freed).isZero();
    assertThat(request.inputs()).isEmpty();
    assertThat(complete(onDispatch, request)).as("it is over").isFalse();
    assertThat(answer.freed).as("nobody gets it").isEqualTo(1);
    assertThat(recorder.outcomes).hasSize(1);
    assertThat(counters.get(Metric.COMPLETED)).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldEndARequestOnceWithoutAnAnswer(boolean onDispatch) {
    QueuedRequest request = taken();
    assertThat(end(onDispatch, request, State.QUEUED)).as("it is in a batch").isFalse();
    assertThat(recorder.outcomes).isEmpty();
    assertThat(budget.held()).isEqualTo(INPUT + ANSWER);
    assertThat(end(onDispatch, request, State.TAKEN)).isTrue();
    assertThat(recorder.outcomes).containsExactly(FAILED);
    assertThat(recorder.parts).isEmpty();
    assertThat(counters.get(Metric.FAILED)).isEqualTo(1);
    assertThat(counters.waiting()).as("it left the queue when it was taken").isEqualTo(1);
    assertThat(budget.held()).isZero();
    assertThat(end(onDispatch, request, State.TAKEN)).isFalse();
    assertThat(recorder.outcomes).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldGiveThePlaceOfAWaitingRequestBack(boolean onDispatch) {
    assertThat(end(onDispatch, queued(), State.QUEUED)).isTrue();
    assertThat(counters.waiting()).isZero();
    assertThat(counters.open()).isZero();
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldRefuseOnceAndCountNothing() {
    Outcome.Refused refused = new Outcome.Refused(Status.NOT_FOUND, "none");
    QueuedRequest request = fresh();
    accounting.refuse(request, refused);
    accounting.refuse(request, refused);
    assertThat(recorder.outcomes).containsExactly(refused);
    assertThat(counters.get(Metric.ACCEPTED)).isZero();
  }

  @Test
  void shouldCloseAnAnswerThatItsReceiverThrowsAtAndTellItTheEndAllTheSame() {
    recorder.onPart = new AssertionError("a receiver's own fault");
    owned.complete(taken(), answer, COMPLETED);
    assertThat(answer.closed).isEqualTo(1);
    assertThat(recorder.outcomes).containsExactly(COMPLETED);
  }

  @Test
  void shouldKeepWhatAReceiverThrowsAtTheEndToItself() {
    recorder.onEnd = new IllegalStateException("a receiver's own fault");
    assertThat(accounting.complete(taken(), answer, COMPLETED)).isTrue();
    assertThat(answer.closed).isZero();
    assertThat(accounting.end(queued(), State.QUEUED, FAILED)).isTrue();
  }

  @Test
  void shouldCountHowLongARequestWasThereThatIsNotAnswered() {
    QueuedRequest first = queued();
    QueuedRequest second = queued();
    clock.advance(5);
    assertThat(accounting.nanoTime()).isEqualTo(5);
    accounting.end(first, State.QUEUED, FAILED);
    clock.advance(2);
    accounting.end(second, State.QUEUED, FAILED);
    assertThat(counters.unansweredNanos()).isEqualTo(5 + 7);
  }

  @Test
  void shouldGiveBackTheShareOfItsCaller() {
    int cell = shares.cell(7, 0);
    QueuedRequest request = queued();
    shares.enter(cell);
    request.countIn(cell);
    assertThat(shares.depth(cell, 16)).isEqualTo(16);
    accounting.end(request, State.QUEUED, FAILED);
    assertThat(shares.depth(cell, 16)).isEqualTo(18);
  }

  @Test
  void shouldFreeWhatPiecesHaveGatheredUnlessItIsTheAnswer() {
    for (boolean answered : new boolean[] {true, false}) {
      QueuedRequest request = taken();
      RecordedAnswer gathered = new RecordedAnswer();
      Pieces pieces = new Pieces(0);
      pieces.begin(gathered);
      request.beginPieces(pieces);
      if (answered) {
        accounting.complete(request, gathered, COMPLETED);
      } else {
        accounting.end(request, State.TAKEN, FAILED);
      }
      assertThat(gathered.freed).isEqualTo(answered ? 0 : 1);
    }
  }

  @Test
  void shouldNotTakeWhatIsOver() {
    QueuedRequest request = queued();
    assertThat(request.variant()).isEqualTo(VARIANT);
    accounting.end(request, State.QUEUED, FAILED);
    assertThat(request.take()).isFalse();
  }

  private boolean complete(boolean onDispatch, QueuedRequest request) {
    return (onDispatch ? owned : accounting).complete(request, answer, COMPLETED);
  }

  private boolean end(boolean onDispatch, QueuedRequest request, State expected) {
    return (onDispatch ? owned : accounting).end(request, expected, FAILED);
  }

  private QueuedRequest fresh() {
    return new QueuedRequest(
        InferenceRequest.of("model", List.of(), recorder).build(), each -> false);
  }

  private QueuedRequest queued() {
    QueuedRequest request = fresh();
    assertThat(budget.take(INPUT + ANSWER)).isTrue();
    assertThat(counters.enter(10)).isTrue();
    request.admit(
        0,
        new Admitted(1, VARIANT, List.of(), INPUT, ANSWER, null),
        counters,
        0,
        InferenceRequest.NO_DEADLINE,
        0);
    return request;
  }

  private QueuedRequest taken() {
    QueuedRequest request = queued();
    assertThat(request.take()).isTrue();
    return request;
  }

  private static final class Recorder implements AnswerSink {
    final List<Answer> parts = new ArrayList<>();
    final List<Outcome> outcomes = new ArrayList<>();
    @Nullable Throwable onPart;
    @Nullable Throwable onEnd;

    @Override
    public void onPart(Answer part) {
      parts.add(part);
      throwIfSet(onPart);
    }

    @Override
    public void onEnd(Outcome outcome) {
      outcomes.add(outcome);
      throwIfSet(onEnd);
    }

    private static void throwIfSet(@Nullable Throwable thrown) {
      if (thrown instanceof Error error) {
        throw error;
      }
      if (thrown instanceof RuntimeException exception) {
        throw exception;
      }
    }
  }

  private static final class RecordedAnswer implements Answer {
    int freed;
    int closed;

    @Override
    public String modelVersion() {
      return "1";
    }

    @Override
    public List<OutputTensor> outputs() {
      return List.of();
    }

    @Override
    public void free() {
      freed++;
    }

    @Override
    public void close() {
      closed++;
    }
  }
}
