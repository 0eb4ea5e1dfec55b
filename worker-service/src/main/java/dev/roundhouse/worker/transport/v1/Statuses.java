package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.v1.CallStatuses;
import dev.roundhouse.worker.transport.grpc.UnaryAnswer;

/** Tells how calls went. Thread-safe. */
final class Statuses {
  private final CallStatuses told;

  /**
   * @param server its name
   * @param texts what callers are told
   */
  Statuses(String server, ClientText texts) {
    told = new CallStatuses(server, texts);
  }

  RequestStatus success() {
    return told.success();
  }

  /** Of a failure that is logged when it is not the caller's to know. */
  RequestStatus of(Throwable failure, AboutRequest about) {
    WireException refusal = UnaryAnswer.refusal(UnaryAnswer.cause(failure), about);
    return told.failure(RequestStatuses.code(refusal.status()), refusal.text());
  }
}
