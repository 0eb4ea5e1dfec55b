package dev.roundhouse.gateway.payload;

import dev.roundhouse.platform.payload.PayloadBody;

/** The messages of a ModelInfer, of which documents are made when they are sent. */
final class CallForm implements BufferedCopy.MessageForm {
  static final CallForm INSTANCE = new CallForm();

  private CallForm() {}

  @Override
  public PayloadBody request(byte[] whole) {
    return new PayloadBody.Later(whole.length, () -> CallDocuments.request(whole));
  }

  @Override
  public PayloadBody answer(byte[] whole) {
    return new PayloadBody.Later(whole.length, () -> CallDocuments.answer(whole));
  }
}
