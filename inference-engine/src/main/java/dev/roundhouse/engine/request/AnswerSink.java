package dev.roundhouse.engine.request;

/**
 * Where the answer to one request goes: parts, in order, then one end. A request that is not
 * streamed has one part, or none when it was not answered.
 *
 * <p>Both methods are called by the thread where it happens: the submitting thread for a refusal,
 * the cancelling thread for a request that waits, else a thread of the engine. Never two at once
 * for one request. They must be brief and must not block; what they throw is logged and costs this
 * call only.
 */
public interface AnswerSink {

  /**
   * Takes a part of the answer. The receiver closes it once its bytes are written or given up: the
   * memory it promised to need is counted until then.
   */
  void onPart(Answer part);

  /** The one end. Nothing follows it. */
  void onEnd(Outcome outcome);
}
