package dev.roundhouse.platform.v1;

import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.platform.text.ClientText;
import java.util.concurrent.atomic.AtomicLong;

/** Tells how calls of v1 went, each with a number of its own. Thread-safe. */
public final class CallStatuses {
  private final String server;
  private final ClientText texts;
  private final AtomicLong told = new AtomicLong();

  /**
   * @param server its name
   * @param texts what callers are told
   */
  public CallStatuses(String server, ClientText texts) {
    this.server = server;
    this.texts = texts;
  }

  public RequestStatus success() {
    return status(RequestStatusCode.SUCCESS, "");
  }

  /** Of a call that failed. */
  public RequestStatus failure(RequestStatusCode code, String text) {
    return status(code, texts.of(text));
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
