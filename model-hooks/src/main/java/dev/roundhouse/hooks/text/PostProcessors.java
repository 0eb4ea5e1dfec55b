package dev.roundhouse.hooks.text;

import dev.roundhouse.hooks.text.PostProcessor.Part;
import dev.roundhouse.hooks.text.PostProcessor.SpecialPart;
import dev.roundhouse.hooks.text.PostProcessor.TextPart;
import java.util.ArrayList;
import java.util.List;

/** Reads {@code post_processor} of {@code tokenizer.json}. */
final class PostProcessors {

  private PostProcessors() {}

  static PostProcessor read(JsonFields fields) {
    String type = fields.text("type");
    return switch (type) {
      case "TemplateProcessing" -> template(fields);
      case "BertProcessing" -> bert(tokenId(fields, "cls"), tokenId(fields, "sep"));
      case "RobertaProcessing" -> roberta(tokenId(fields, "cls"), tokenId(fields, "sep"));
      case "ByteLevel" -> PostProcessor.NONE; // about offsets only
      case "Sequence" -> sequence(fields);
      default -> throw fields.unknown("post-processor", type);
    };
  }

  static PostProcessor bert(int cls, int sep) {
    SpecialPart begin = special(cls, 0);
    SpecialPart end = special(sep, 0);
    return new PostProcessor(
        List.of(begin, new TextPart(false, 0), end),
        List.of(begin, new TextPart(false, 0), end, new TextPart(true, 1), special(sep, 1)));
  }

  private static PostProcessor roberta(int cls, int sep) {
    SpecialPart begin = special(cls, 0);
    SpecialPart end = special(sep, 0);
    TextPart second = new TextPart(true, 0);
    return new PostProcessor(
        List.of(begin, new TextPart(false, 0), end),
        List.of(begin, new TextPart(false, 0), end, end, second, end));
  }

  private static SpecialPart special(int id, int typeId) {
    return new SpecialPart(List.of(id), typeId);
  }

  /** Returns the id of a pair of token and id. */
  private static int tokenId(JsonFields fields, String name) {
    return fields.integerAt(name, 1);
  }

  /** At most one of its members adds tokens. */
  private static PostProcessor sequence(JsonFields fields) {
    PostProcessor found = PostProcessor.NONE;
    for (JsonFields member : fields.list("processors")) {
      PostProcessor next = read(member);
      if (!found.equals(PostProcessor.NONE) && !next.equals(PostProcessor.NONE)) {
        throw fields.wrong("two post-processors that add tokens are not supported");
      }
      found = next.equals(PostProcessor.NONE) ? found : next;
    }
    return found;
  }

  private static PostProcessor template(JsonFields fields) {
    JsonFields tokens = fields.object("special_tokens");
    return new PostProcessor(
        parts(fields.list("single"), tokens), parts(fields.list("pair"), tokens));
  }

  private static List<Part> parts(List<JsonFields> templates, JsonFields tokens) {
    List<Part> parts = new ArrayList<>();
    for (JsonFields template : templates) {
      if (template.has("Sequence")) {
        JsonFields text = template.object("Sequence");
        String id = text.text("id");
        if (!id.equals("A") && !id.equals("B")) {
          throw text.unknown("sequence", id);
        }
        parts.add(new TextPart(id.equals("B"), text.integer("type_id")));
      } else {
        JsonFields special = template.object("SpecialToken");
        List<Integer> ids = tokens.object(special.text("id")).integers("ids");
        parts.add(new SpecialPart(ids, special.integer("type_id")));
      }
    }
    return List.copyOf(parts);
  }
}
