package dev.roundhouse.hooks.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.BufferOverflowException;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BertTextTest {
  @TempDir Path folder;

  @Test
  void shouldReadPlainVocabulariesAsTheJsonOfTheSameTokenizer() throws IOException {
    BertText fromJson = TokenizerCases.tokenizer("word-piece");
    BertText fromVocabulary = BertText.fromVocabulary(TokenizerCases.file("vocab.txt"), true);
    for (TokenizerCases.Case wanted : TokenizerCases.of("word-piece")) {
      if (wanted.ids() != null) {
        assertThat(wanted.encode(fromVocabulary).ids()).isEqualTo(wanted.encode(fromJson).ids());
      }
    }
  }

  @Test
  void shouldPadRowsToTheLongest() {
    BertText tokenizer = TokenizerCases.tokenizer("word-piece");
    TextBatch batch = tokenizer.batch(List.of("a", "a b c", ""));
    assertThat(batch.rows()).isEqualTo(3);
    assertThat(batch.length()).isEqualTo(5);
    int cls = tokenizer.id("[CLS]");
    int sep = tokenizer.id("[SEP]");
    IntBuffer ids = IntBuffer.allocate(15);
    batch.putIds(ids);
    assertThat(ids.array())
        .containsExactly(
            cls,
            tokenizer.id("a"),
            sep,
            0,
            0,
            cls,
            tokenizer.id("a"),
            tokenizer.id("b"),
            tokenizer.id("c"),
            sep,
            cls,
            sep,
            0,
            0,
            0);
    LongBuffer mask = LongBuffer.allocate(15);
    batch.putAttentionMask(mask);
    assertThat(mask.array()).containsExactly(1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0);
  }

  @Test
  void shouldPadAsTheFileSays() {
    BertText tokenizer = TokenizerCases.tokenizer("word-piece-cased").withoutTruncation();
    TextBatch batch =
        tokenizer.batchOfPairs(List.of(new TextPair("a", "b"), new TextPair("a b c", "a b c")));
    assertThat(batch.length()).as("9 tokens, to a multiple of 8").isEqualTo(16);
    IntBuffer types = IntBuffer.allocate(32);
    batch.putTypeIds(types);
    assertThat(types.array())
        .containsExactly(
            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1,
            1, 1, 1);
    IntBuffer mask = IntBuffer.allocate(32);
    batch.putAttentionMask(mask);
    assertThat(mask.array()).startsWith(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0);
  }

  @Test
  void shouldWriteNothingWhenThereIsTooLittleRoom() {
    TextBatch batch = TokenizerCases.tokenizer("word-piece").batch(List.of("a", "b"));
    IntBuffer five = IntBuffer.allocate(5);
    assertThatExceptionOfType(BufferOverflowException.class).isThrownBy(() -> batch.putIds(five));
    assertThat(five.position()).isZero();
  }

  @Test
  void shouldMakeABatchOfNothing() {
    TextBatch batch = TokenizerCases.tokenizer("word-piece").batch(List.of());
    assertThat(batch.rows()).isZero();
    assertThat(batch.length()).isZero();
    batch.putIds(IntBuffer.allocate(0));
  }

  @Test
  void shouldTakeHalvesOfSurrogatePairsForReplacementCharacters() {
    BertText tokenizer = TokenizerCases.tokenizer("byte-level");
    assertThat(tokenizer.encode("a\uD83Db\uDE00").ids())
        .isEqualTo(tokenizer.encode("a\uFFFDb\uFFFD").ids());
  }

  @Test
  void shouldRefuseTruncationWithoutRoomForSpecialTokens() {
    BertText tokenizer = TokenizerCases.tokenizer("word-piece");
    assertThat(tokenizer.truncatedTo(2).encode("a b c").length()).isEqualTo(2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokenizer.truncatedTo(2).encode("a", "b"))
        .withMessage("truncation to 2 tokens leaves no room for 3 special tokens");
    assertThatIllegalArgumentException().isThrownBy(() -> tokenizer.truncatedTo(0));
  }

  @Test
  void shouldEncodeAlikeOnManyThreads() throws Exception {
    BertText tokenizer = TokenizerCases.tokenizer("unigram");
    List<TokenizerCases.Case> cases =
        TokenizerCases.of("unigram").stream().filter(wanted -> wanted.ids() != null).toList();
    Callable<Boolean> allAlike =
        () ->
            cases.stream()
                .allMatch(
                    wanted ->
                        IntStream.of(wanted.encode(tokenizer).ids())
                            .boxed()
                            .toList()
                            .equals(wanted.ids()));
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      for (Future<Boolean> result :
          threads.invokeAll(List.of(allAlike, allAlike, allAlike, allAlike))) {
        assertThat(result.get()).isTrue();
      }
    }
  }

  @Test
  void shouldMergeLongWordsInTimeThatGrowsWithThem() {
    BertText tokenizer = TokenizerCases.tokenizer("byte-fallback");
    String word = "ververing".repeat(50_000);
    assertThat(tokenizer.encode(word).length()).isGreaterThan(50_000).isLessThan(450_000);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "[1]                                             | t.json is not an object",
        "{                                               | t.json: Unexpected end-of-input",
        "{}                                              | t.json: 'model' is missing",
        "{'model':{'type':'Chars'}}                      | t.json.model: the model 'Chars' is not supported",
        "{'model':{'type':'WordPiece','vocab':{'a':0}}}  | t.json.model: the vocabulary has no '[UNK]'",
        "{'model':{'type':'WordPiece','vocab':{'a':'x'}}} | t.json.model: the id of token 'a' is no integer",
        "{'model':{'type':'BPE','vocab':{'a':0},'merges':['a b']}} | t.json.model: the vocabulary has no token 'b'",
        "{'model':{'type':'BPE','vocab':{'a':0},'merges':['a']}} | t.json.model: merge 0 is no pair of tokens",
        "{'model':{'type':'BPE','vocab':{},'merges':[],'dropout':0.1}} | t.json.model: 'dropout' is for training",
        "{'model':{'type':'Unigram','vocab':[['a']]}}    | t.json.model: vocab[0] is no pair",
        "{'model':{'type':'Unigram','unk_id':7,'vocab':[['a',-1]]}} | t.json.model: 'unk_id' is 7",
        "{'model':{'type':'Unigram','vocab':[]},'normalizer':{'type':'Magic'}} | t.json.normalizer: the normalizer 'Magic' is not supported",
        "{'model':{'type':'Unigram','vocab':[]},'normalizer':{'type':'Precompiled','precompiled_charsmap':'//8AAA=='}} | precompiled_charsmap says that its trie has 65535 of 0 bytes",
        "{'model':{'type':'Unigram','vocab':[]},'pre_tokenizer':{'type':'Split','behavior':'Removed','pattern':{'Regex':'('}}} | is no regular expression of Java's",
        "{'model':{'type':'Unigram','vocab':[]},'post_processor':{'type':'Magic'}} | t.json.post_processor: the post-processor 'Magic' is not supported",
        "{'model':{'type':'Unigram','vocab':[]},'truncation':{'max_length':0}} | t.json.truncation: 'max_length' is 0; it must be 1 or more",
      })
  void shouldNameWhatIsWrongWithAFile(String json, String message) throws IOException {
    Path file = Files.writeString(folder.resolve("t.json"), json.replace('\'', '"'));
    assertThatThrownBy(() -> BertText.fromTokenizerJson(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @Test
  void shouldNameMissingFilesAndTokens() throws IOException {
    assertThatExceptionOfType(NoSuchFileException.class)
        .isThrownBy(() -> BertText.fromTokenizerJson(folder.resolve("none.json")));
    Path file = Files.writeString(folder.resolve("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BertText.fromVocabulary(file, true))
        .withMessage("vocab.txt has no line '[SEP]'");
    BertText tokenizer = TokenizerCases.tokenizer("word-piece");
    assertThatIllegalArgumentException().isThrownBy(() -> tokenizer.id("no such token"));
    assertThatIllegalArgumentException().isThrownBy(() -> tokenizer.token(1 << 20));
  }

  @Test
  void shouldRefuseUnknownCharactersWhereTheVocabularyHasNoTokenForThem() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("t.json"), "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]]}}");
    BertText tokenizer = BertText.fromTokenizerJson(file);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tokenizer.encode("aé"))
        .withMessageContaining("U+00E9");
  }
}
