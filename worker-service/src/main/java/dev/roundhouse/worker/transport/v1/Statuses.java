package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.worker.transport.grpc.UnaryAnswer;
import java.util.concurrent.atomic.AtomicLong;

/** Tells how calls went. Thread-safe. */
final class Statuses {
  private final String server;
  private final ClientText texts;
  private final AtomicLong told = new AtomicLong();

  /**
   * @param server its name
   * @param texts what callers are told
   */
  Statuses(String server, ClientText texts) {
    this.server = server;
    this.texts = texts;
  }

  RequestStatus success() {
    return status(RequestStatusCode.SUCCESS, "");
  }

  /** Of a failure that is logged when it is not the caller's to know. */
  RequestStatus of(Throwable failure, AboutRequest about) {
    WireException refusal = UnaryAnswer.refusal(UnaryAnswer.cause(failure), about);
    return status(RequestStatuses.code(refusal.status()), texts.of(refusal.text()));
  }

  private RequestStatus status(RequestStatusCode code, String text) {
    return RequestStatus.newBuilder()
        .setCode(code)
        .setMsg(text)
        .setServerId(server)
        .setRequestId(told.incrementAndGet())
        .build();
  }
}
