package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;

/** What each worker answers to one path, side by side. */
final class WorkersDocuments {
  private final WorkersQuestion question;
  private final String path;

  WorkersDocuments(AnsweredFor others, String path) {
    question = new WorkersQuestion(others);
    this.path = path;
  }

  /**
   * @param worker null for all
   */
  WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return read(worker, "");
  }

  /**
   * @param own properties of the process itself, each with a comma behind it
   */
  WebEndpointResponse<Resource> read(@Nullable String worker, String own) throws IOException {
    List<Answer<AskedJson>> answers =
        question.ask(
            path, worker, (from, type, body) -> AskedJson.document(question.memory(), body));
    if (answers == null) {
      return question.noWorker(String.valueOf(worker));
    }
    List<InputStream> parts = new ArrayList<>();
    String before = "{" + own + "\"workers\":[";
    for (Answer<AskedJson> answer : answers) {
      parts.add(WorkersQuestion.text(before + WorkersQuestion.opened(answer) + ",\"answer\":"));
      AskedJson json = answer.value();
      parts.add(json == null ? WorkersQuestion.text("null") : json.read());
      before = "},";
    }
    parts.add(WorkersQuestion.text(answers.isEmpty() ? before + "]}" : "}]}"));
    return WorkersQuestion.json(200, parts);
  }
}
