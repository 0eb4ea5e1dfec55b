package dev.roundhouse.engine.sequence;

import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.state.CarriedState;
import java.util.List;

/**
 * One request of a sequence. Its answer passes through here: the state for the next step is kept,
 * the rest goes to the caller.
 */
public final class Step implements AnswerSink {
  private final Sequences sequences;
  private final Sequence sequence;
  private final SequenceStep asked;
  private final QueuedRequest request;
  private final AnswerSink caller;

  Step(Sequences sequences, Sequence sequence, SequenceStep asked, QueuedRequest request) {
    this.sequences = sequences;
    this.sequence = sequence;
    this.asked = asked;
    this.request = request;
    this.caller = request.request().sink();
  }

  Sequence sequence() {
    return sequence;
  }

  SequenceStep asked() {
    return asked;
  }

  QueuedRequest request() {
    return request;
  }

  /**
   * The inputs and outputs of the request, in the program's terms.
   *
   * @param found what its caller sent and wants
   * @throws RefusedException when a sequence cannot have such a step
   */
  public Admitted complete(Admitted found) throws RefusedException {
    request.carry(sequence.carried());
    return sequence.rules().complete(found, asked, sequence);
  }

  @Override
  public void onPart(Answer part) {
    CarriedState carried = sequence.carried();
    if (carried != null && carried.commit()) {
      caller.onPart(part);
      return;
    }
    List<OutputTensor> all = part.outputs();
    int visible = all.size() - sequence.rules().stateCount();
    sequence.keep(all.subList(visible, all.size()));
    caller.onPart(new WithoutState(part, all.subList(0, visible)));
  }

  @Override
  public void onEnd(Outcome outcome) {
    try {
      caller.onEnd(outcome);
    } finally {
      endStep();
    }
  }

  private void endStep() {
    CarriedState carried = sequence.carried();
    try {
      sequences.ended(this);
    } finally {
      if (carried != null) {
        carried.makeRoomForIt();
      }
    }
  }

  /** An answer without the state. */
  private record WithoutState(Answer whole, List<OutputTensor> outputs) implements Answer {
    @Override
    public String modelVersion() {
      return whole.modelVersion();
    }

    @Override
    public void free() {
      whole.free();
    }

    @Override
    public void close() {
      whole.close();
    }
  }
}
