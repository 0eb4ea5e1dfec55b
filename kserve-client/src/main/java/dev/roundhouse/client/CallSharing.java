package dev.roundhouse.client;

import dev.roundhouse.client.SharedTensors.Borrowed;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import org.jspecify.annotations.Nullable;

/** How one call shares memory, from attempt to attempt. Used by one thread at a time. */
final class CallSharing {
  private final @Nullable SharedTensors shared;
  private final InferRequest request;
  private Tensors tensors = Tensors.ALL;
  private boolean registeredAgain;

  /** Which of them may go through shared memory. */
  private enum Tensors {
    ALL,
    INPUTS,
    NONE
  }

  /** What is to follow an attempt that failed. */
  enum Next {
    /** What would follow if no memory had been shared. */
    AS_EVER,
    /** Another attempt, which shares otherwise. */
    AGAIN,
    /** {@link #register}, then another attempt. */
    REGISTER
  }

  /**
   * @param shared null when the client shares none
   */
  CallSharing(@Nullable SharedTensors shared, InferRequest request) {
    this.shared = shared;
    this.request = request;
  }

  /** Whether the next attempt may block to set memory up, or to wait for some. */
  boolean may() {
    return shared != null && tensors != Tensors.NONE && shared.considers(request);
  }

  /** What an attempt shares; null when it is sent in a message. */
  @Nullable Borrowed borrow(long leftNanos) {
    return shared != null && may()
        ? shared.borrow(request, leftNanos, tensors == Tensors.ALL, false)
        : null;
  }

  /**
   * What a request of a stream shares: with its outputs all its inputs, which can then be sent
   * again when the caller has its memory back. Null when it is sent in a message.
   */
  @Nullable Borrowed borrowWhole(long leftNanos) {
    return shared != null && may() ? shared.borrow(request, leftNanos, true, true) : null;
  }

  /** An answer has come that shares nothing. */
  void onAnswer(ModelInferResponse response) {
    if (shared != null) {
      long bytes = 0;
      for (int i = 0; i < response.getRawOutputContentsCount(); i++) {
        bytes += response.getRawOutputContents(i).size();
      }
      shared.onAnswer(request.model(), bytes);
    }
  }

  /**
   * What is to follow an attempt that the server refused.
   *
   * @param reason beside the status
   * @param loan of the attempt; null when it shared nothing
   */
  Next after(Status status, ServerReason reason, @Nullable Loan loan) {
    if (shared == null || loan == null) {
      return Next.AS_EVER;
    }
    if (SharedTensors.lost(status, reason, loan)) {
      if (!registeredAgain) {
        registeredAgain = true;
        return Next.REGISTER;
      }
      if (!shared.mayFallBack()) {
        return Next.AS_EVER;
      }
      fallBack(shared, "it does not keep the region");
      return Next.AGAIN;
    }
    if (!SharedTensors.about(status, loan)) {
      return Next.AS_EVER;
    }
    shared.answers().forget(request);
    if (tensors == Tensors.ALL && !loan.outputs().isEmpty()) {
      tensors = Tensors.INPUTS;
    } else if (shared.mayFallBack()) {
      tensors = Tensors.NONE;
    } else {
      return Next.AS_EVER;
    }
    return Next.AGAIN;
  }

  private void fallBack(SharedTensors of, String why) {
    of.giveUp(why);
    tensors = Tensors.NONE;
  }

  /**
   * Registers a region again that the server has lost; blocks.
   *
   * @throws KServeException when the server cannot be reached, or does not take it and must
   */
  void register(Loan loan, long leftNanos) {
    if (shared == null) {
      return;
    }
    try {
      shared.register(loan, leftNanos);
    } catch (StatusRuntimeException e) {
      Status status = e.getStatus();
      String why = "it lost the region and does not take it again: " + status.getDescription();
      if (SharedTensors.notAnAnswer(status)) {
        throw KServeException.of(status, null);
      }
      if (!shared.mayFallBack()) {
        throw new KServeException(
            Status.Code.FAILED_PRECONDITION,
            "shared memory is on and cannot be used with the server: " + why,
            e,
            null);
      }
      fallBack(shared, why);
    }
  }
}
