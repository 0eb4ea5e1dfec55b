package dev.roundhouse.client;

import dev.roundhouse.client.AnswerReader.Place;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import org.jspecify.annotations.Nullable;

/** One request of a stream, and its place among the answers. Under the stream's lock. */
final class StreamTurn {
  /** Null of an answer that nobody waits for. */
  private final @Nullable InferRequest request;

  private final @Nullable CallSharing sharing;
  private final long budgetNanos;
  private @Nullable Loan loan;
  private @Nullable ModelStreamInferResponse told;
  private @Nullable StreamAnswer read;

  private StreamTurn(
      @Nullable InferRequest request, @Nullable CallSharing sharing, long budgetNanos) {
    this.request = request;
    this.sharing = sharing;
    this.budgetNanos = budgetNanos;
  }

  /**
   * @param budgetNanos that the server is told; 0 for none
   */
  static StreamTurn of(InferRequest request, @Nullable SharedTensors shared, long budgetNanos) {
    return new StreamTurn(request, new CallSharing(shared, request), budgetNanos);
  }

  /** An answer beyond the first to a request. */
  static StreamTurn beyond() {
    return new StreamTurn(null, null, 0);
  }

  /** Of a turn that somebody has asked for. */
  CallSharing sharing() {
    if (sharing == null) {
      throw new IllegalStateException("nobody has asked for this answer");
    }
    return sharing;
  }

  /**
   * The request's message.
   *
   * @param borrowed what it shares, taken; null when it goes in the message
   */
  OutgoingMessage message(SharedTensors.@Nullable Borrowed borrowed) {
    if (borrowed == null) {
      return RequestHead.inline(asked(), budgetNanos);
    }
    loan = borrowed.loan();
    return borrowed.loan().message(asked(), budgetNanos, borrowed.places());
  }

  private InferRequest asked() {
    if (request == null) {
      throw new IllegalStateException("nobody has asked for this answer");
    }
    return request;
  }

  @Nullable Loan loan() {
    return loan;
  }

  /** A step of a sequence would come after the next one. */
  boolean mayBeSentAgain() {
    return asked().sequence() == null;
  }

  /** The request once more, as it was, after the region was registered again. */
  OutgoingMessage again() {
    return lent().again();
  }

  /** The request once more, with its inputs shared. */
  OutgoingMessage withoutPlaces() {
    return lent().withoutPlaces();
  }

  /** The request once more, in a message; call {@link #release} when that has been sent. */
  OutgoingMessage inline() {
    return lent().inline(asked(), budgetNanos);
  }

  private Loan lent() {
    Loan lent = loan;
    if (lent == null) {
      throw new IllegalStateException("the request shares nothing");
    }
    return lent;
  }

  /**
   * Gives the slots back.
   *
   * @param settled false when the server may still write to them
   */
  void release(boolean settled) {
    Loan lent = loan;
    loan = null;
    if (lent != null) {
      lent.end(settled);
    }
  }

  boolean isAnswered() {
    return told != null || read != null;
  }

  /**
   * Takes the answer.
   *
   * @return bytes that went through shared memory
   */
  long answer(ModelStreamInferResponse message) {
    told = message;
    if (!message.getErrorMessage().isEmpty()) {
      release(true);
      return 0;
    }
    if (loan == null) {
      if (sharing != null) {
        sharing.onAnswer(message.getInferResponse());
      }
      return 0;
    }
    return loan.sharedBytes();
  }

  /** It cannot be asked again. */
  void fail(String why) {
    release(true);
    read = new StreamAnswer.Failed(request == null ? "" : request.id(), why);
  }

  /** Reads the answer out of the slots and gives them back, so that it may lie. */
  void settle() {
    if (loan == null) {
      return;
    }
    try {
      read = take();
    } catch (KServeException e) {
      loan = null; // whoever takes the answer is told
    }
  }

  /**
   * The answer, with memory of its own.
   *
   * @throws KServeException when it makes no sense
   */
  StreamAnswer take() {
    StreamAnswer done = read;
    ModelStreamInferResponse message = told;
    if (done != null) {
      return done;
    }
    if (message == null) {
      throw new IllegalStateException("it has not been answered");
    }
    ModelInferResponse response = message.getInferResponse();
    if (!message.getErrorMessage().isEmpty()) {
      return new StreamAnswer.Failed(response.getId(), message.getErrorMessage());
    }
    try {
      Place place = loan == null ? Place.VIEW : Place.COPY;
      return new StreamAnswer.Answered(AnswerReader.read(response, null, loan, place));
    } finally {
      release(true);
    }
  }
}
