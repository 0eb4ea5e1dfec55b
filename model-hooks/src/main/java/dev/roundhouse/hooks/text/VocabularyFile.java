package dev.roundhouse.hooks.text;

import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** BERT's {@code vocab.txt}: a token per line, whose number is its id. */
final class VocabularyFile {
  private static final List<String> SPECIAL = List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]");
  private static final int MAX_CHARACTERS = 100;

  private VocabularyFile() {}

  static BertText read(Path file, boolean lowercase) throws IOException {
    Vocabulary vocabulary = vocabulary(file);
    int cls = special(vocabulary, "[CLS]", file);
    int sep = special(vocabulary, "[SEP]", file);
    int pad = special(vocabulary, "[PAD]", file);
    special(vocabulary, "[UNK]", file);
    List<AddedTokens.Token> added =
        SPECIAL.stream()
            .filter(token -> vocabulary.id(token) != Vocabulary.NONE)
            .map(
                token ->
                    new AddedTokens.Token(token, vocabulary.id(token), false, false, false, false))
            .toList();
    return new BertText(
        new Tokenization(
            added,
            new BertNormalizer(true, true, lowercase, lowercase),
            PreTokenizers.BERT,
            new WordPiece(vocabulary, "[UNK]", "##", MAX_CHARACTERS)),
        PostProcessors.bert(cls, sep),
        null,
        new Padding(pad, 0, 0, 1, false));
  }

  private static Vocabulary vocabulary(Path file) throws IOException {
    Map<String, Integer> ids = new HashMap<>();
    try {
      int line = 0;
      for (String token : Files.readAllLines(file)) {
        ids.put(token.stripTrailing(), line++);
      }
    } catch (MalformedInputException e) {
      throw new IllegalArgumentException(file.getFileName() + " is not UTF-8", e);
    }
    return new Vocabulary(ids);
  }

  private static int special(Vocabulary vocabulary, String token, Path file) {
    int id = vocabulary.id(token);
    if (id == Vocabulary.NONE) {
      throw new IllegalArgumentException(file.getFileName() + " has no line '" + token + "'");
    }
    return id;
  }
}
