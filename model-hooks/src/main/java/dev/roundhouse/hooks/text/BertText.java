package dev.roundhouse.hooks.text;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Turns text into the token ids of a model, as Hugging Face's {@code tokenizers} does: WordPiece,
 * byte pairs and unigrams, with what stands in {@code tokenizer.json} before and after them.
 *
 * <p>Immutable and safe for any thread: read it once, in {@code open}. A text may be of any length;
 * the time that one takes grows with it.
 */
public final class BertText {
  private final Tokenization tokenization;
  private final PostProcessor processor;
  private final @Nullable Truncation truncation;
  private final Padding padding;

  BertText(
      Tokenization tokenization,
      PostProcessor processor,
      @Nullable Truncation truncation,
      Padding padding) {
    this.tokenization = tokenization;
    this.processor = processor;
    this.truncation = truncation;
    this.padding = padding;
  }

  /**
   * Reads {@code tokenizer.json}, its truncation and padding included.
   *
   * @throws IOException when the file cannot be read
   * @throws IllegalArgumentException when it is not a tokenizer, or asks for something that is not
   *     known here, which is named
   */
  public static BertText fromTokenizerJson(Path file) throws IOException {
    return TokenizerJson.read(file);
  }

  /**
   * Reads BERT's {@code vocab.txt}, a token per line: WordPiece, {@code [CLS]} and {@code [SEP]}
   * around texts, no truncation.
   *
   * @param lowercase makes letters small and takes accents off, as the "uncased" models want
   * @throws IOException when the file cannot be read
   * @throws IllegalArgumentException when one of {@code [UNK]}, {@code [CLS]}, {@code [SEP]} and
   *     {@code [PAD]} is not in it
   */
  public static BertText fromVocabulary(Path file, boolean lowercase) throws IOException {
    return VocabularyFile.read(file, lowercase);
  }

  /**
   * Returns one that cuts to {@code maxLength} tokens, special ones included, the longer text of a
   * pair first.
   */
  public BertText truncatedTo(int maxLength) {
    return truncatedTo(maxLength, TruncationStrategy.LONGEST_FIRST);
  }

  /** Returns one that cuts to {@code maxLength} tokens, special ones included. */
  public BertText truncatedTo(int maxLength, TruncationStrategy strategy) {
    boolean fromLeft = truncation != null && truncation.fromLeft();
    return new BertText(
        tokenization, processor, new Truncation(maxLength, strategy, fromLeft), padding);
  }

  /** Returns one that cuts nothing, whatever the file says. */
  public BertText withoutTruncation() {
    return new BertText(tokenization, processor, null, padding);
  }

  /**
   * Encodes one text.
   *
   * @throws IllegalArgumentException when it cannot be cut as wanted
   */
  public Encoding encode(String text) {
    int[] ids = tokenization.ids(text);
    return processor.process(
        truncation == null ? ids : truncation.cut(ids, processor.added(false)), null);
  }

  /**
   * Encodes two texts that the model reads together.
   *
   * @throws IllegalArgumentException when they cannot be cut as wanted
   */
  public Encoding encode(String first, String second) {
    int[] firstIds = tokenization.ids(first);
    int[] secondIds = tokenization.ids(second);
    if (truncation == null) {
      return processor.process(firstIds, secondIds);
    }
    int[][] cut = truncation.cut(firstIds, secondIds, processor.added(true));
    return processor.process(cut[0], cut[1]);
  }

  /** Encodes texts together, padded to the longest, or to the length that the file says. */
  public TextBatch batch(List<String> texts) {
    List<Encoding> encodings = new ArrayList<>(texts.size());
    for (String text : texts) {
      encodings.add(encode(text));
    }
    return new TextBatch(encodings, padding);
  }

  /** Encodes pairs together, padded to the longest, or to the length that the file says. */
  public TextBatch batchOfPairs(List<TextPair> pairs) {
    List<Encoding> encodings = new ArrayList<>(pairs.size());
    for (TextPair pair : pairs) {
      encodings.add(encode(pair.first(), pair.second()));
    }
    return new TextBatch(encodings, padding);
  }

  /**
   * Returns a token's id.
   *
   * @throws IllegalArgumentException when there is no such token
   */
  public int id(String token) {
    int id = tokenization.id(token);
    if (id == Vocabulary.NONE) {
      throw new IllegalArgumentException("the vocabulary has no token '" + token + "'");
    }
    return id;
  }

  /**
   * Returns the token of an id, as it stands in the vocabulary.
   *
   * @throws IllegalArgumentException when there is no such id
   */
  public String token(int id) {
    String token = tokenization.token(id);
    if (token == null) {
      throw new IllegalArgumentException("the vocabulary has no id " + id);
    }
    return token;
  }

  /** Returns the id that rows of a batch are padded with. */
  public int paddingId() {
    return padding.id();
  }
}
