package dev.roundhouse.engine.request;

import org.jspecify.annotations.Nullable;

/**
 * Where the answer to one request goes: parts, in order, then one end. A request has one part, or
 * none when it was not answered; of a decoupled model it has any number.
 *
 * <p>Parts and the end are told by the thread where it happens: the submitting thread for a
 * refusal, the cancelling thread for a request that waits, else a thread of the engine. Never two
 * at once for one request. They must be brief and must not block; what they throw is logged and
 * costs this call only.
 */
public interface AnswerSink {

  /**
   * The request is for a decoupled model: any number of parts will come, each in its own time.
   * Called by the submitting thread before the request is accepted, maybe again. Whoever takes them
   * closes each when its reader has it: the model waits while too many are open.
   *
   * @return null when they may come; else why not, for the caller
   */
  default @Nullable String onManyParts() {
    return "the model is decoupled: it answers in any number of parts, and its caller takes one; ask it over ModelStreamInfer";
  }

  /**
   * The model has made a call to answer the request, and it has ended. Told before the end of the
   * request, of those whose options say that they are traced; by several threads at once.
   */
  default void onCall(CallReport call) {}

  /**
   * Takes a part of the answer. The receiver closes it once its bytes are written or given up: the
   * memory it promised to need is counted until then.
   */
  void onPart(Answer part);

  /** The one end. Nothing follows it. */
  void onEnd(Outcome outcome);
}
