package dev.roundhouse.gateway.payload;

import dev.roundhouse.platform.payload.PayloadBody;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.LinkedHashMap;
import java.util.Map;

/** The bodies of one inference over HTTP, as they are, with the headers that say what they are. */
final class HttpForm implements BufferedCopy.MessageForm {
  private static final String[] NAMES = {
    "content-type", "content-encoding", "inference-header-content-length"
  };

  private final Map<String, String> ofRequest;
  private Map<String, String> ofAnswer = Map.of();

  /**
   * @param headers of the request
   */
  HttpForm(HttpHeaders headers) {
    ofRequest = of(headers);
  }

  private static Map<String, String> of(HttpHeaders headers) {
    Map<String, String> form = new LinkedHashMap<>();
    for (String name : NAMES) {
      String value = headers.get(name);
      if (value != null) {
        form.put(name, value);
      }
    }
    form.putIfAbsent("content-type", PayloadBody.JSON);
    return form;
  }

  @Override
  public PayloadBody request(byte[] whole) {
    return new PayloadBody.AsIs(ofRequest, whole);
  }

  @Override
  public void answerHead(HttpHeaders headers) {
    ofAnswer = of(headers);
  }

  @Override
  public PayloadBody answer(byte[] whole) {
    return new PayloadBody.AsIs(ofAnswer, whole);
  }
}
