package dev.roundhouse.hooks.text;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The way of a text to ids: added tokens, normalizer, words, subwords. */
final class Tokenization {
  private final AddedTokens addedTokens;
  private final Map<String, Integer> addedIds = new HashMap<>();
  private final Map<Integer, String> addedContents = new HashMap<>();
  private final Normalizer normalizer;
  private final PreTokenizer preTokenizer;
  private final SubwordModel model;

  Tokenization(
      List<AddedTokens.Token> added,
      Normalizer normalizer,
      PreTokenizer preTokenizer,
      SubwordModel model) {
    this.addedTokens = new AddedTokens(added, normalizer);
    for (AddedTokens.Token token : added) {
      addedIds.put(token.content(), token.id());
      addedContents.put(token.id(), token.content());
    }
    this.normalizer = normalizer;
    this.preTokenizer = preTokenizer;
    this.model = model;
  }

  int[] ids(String text) {
    IntList ids = new IntList();
    List<Piece> words = new ArrayList<>();
    for (Piece piece : addedTokens.extract(Letters.wellFormed(text), normalizer)) {
      if (!piece.isText()) {
        ids.add(piece.id());
        continue;
      }
      words.clear();
      preTokenizer.split(piece, words);
      for (Piece word : words) {
        model.tokenize(word.text(), ids);
      }
    }
    return ids.toArray();
  }

  int id(String token) {
    Integer added = addedIds.get(token);
    return added == null ? model.vocabulary().id(token) : added;
  }

  @Nullable String token(int id) {
    String added = addedContents.get(id);
    return added == null ? model.vocabulary().token(id) : added;
  }
}
