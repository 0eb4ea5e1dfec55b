package dev.roundhouse.hooks.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The three models against slow versions that say what they mean, over an alphabet that makes ties.
 */
class SubwordPropertyTest {
  private static final int ROUNDS = 2_000;
  private static final List<String> ALPHABET = List.of("a", "b", "c", "😀");

  @Test
  void shouldCutWordsAsGreedilyAsTheNaiveWordPiece() {
    long seed = new Random().nextLong();
    Random dice = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      Map<String, Integer> ids = new HashMap<>();
      ids.put("[UNK]", 0);
      for (int i = 0; i < 12; i++) {
        ids.putIfAbsent((dice.nextBoolean() ? "##" : "") + word(dice, 1, 3), ids.size());
      }
      String word = word(dice, 1, 8);
      IntList found = new IntList();
      new WordPiece(new Vocabulary(ids), "[UNK]", "##", 100).tokenize(word, found);
      assertThat(found.toArray())
          .as("seed %d: %s", seed, word)
          .isEqualTo(naiveWordPiece(word, ids));
    }
  }

  @Test
  void shouldMergeAsTheNaivePairEncodingDoes() {
    long seed = new Random().nextLong();
    Random dice = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      Map<String, Integer> ids = new HashMap<>();
      ALPHABET.forEach(letter -> ids.put(letter, ids.size()));
      List<List<String>> merges = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        List<String> tokens = List.copyOf(ids.keySet());
        List<String> merge =
            List.of(
                tokens.get(dice.nextInt(tokens.size())), tokens.get(dice.nextInt(tokens.size())));
        if (!merges.contains(merge)) {
          merges.add(merge);
          ids.putIfAbsent(merge.get(0) + merge.get(1), ids.size());
        }
      }
      String word = word(dice, 1, 14);
      IntList found = new IntList();
      bpe(ids, merges).tokenize(word, found);
      assertThat(found.toArray())
          .as("seed %d: %s by %s", seed, word, merges)
          .isEqualTo(naiveBpe(word, ids, merges));
    }
  }

  @Test
  void shouldFindTheLikeliestPathThatTryingAllFinds() {
    long seed = new Random().nextLong();
    Random dice = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      Map<String, Integer> ids = new HashMap<>();
      ids.put("<unk>", 0);
      for (int i = 0; i < 10; i++) {
        ids.putIfAbsent(word(dice, 1, 3), ids.size());
      }
      double[] scores = new double[ids.size()];
      Arrays.setAll(scores, i -> -1 - dice.nextDouble());
      String word = word(dice, 1, 7);
      IntList found = new IntList();
      new Unigram(new Vocabulary(ids), scores, 0, false).tokenize(word, found);
      assertThat(naiveUnigram(word, ids, scores))
          .as("seed %d: %s", seed, word)
          .contains(Arrays.stream(found.toArray()).boxed().toList());
    }
  }

  private static String word(Random dice, int shortest, int longest) {
    StringBuilder word = new StringBuilder();
    int length = dice.nextInt(shortest, longest + 1);
    for (int i = 0; i < length; i++) {
      word.append(ALPHABET.get(dice.nextInt(ALPHABET.size())));
    }
    return word.toString();
  }

  private static int[] naiveWordPiece(String word, Map<String, Integer> ids) {
    List<Integer> found = new ArrayList<>();
    String left = word;
    while (!left.isEmpty()) {
      int end = left.length();
      String prefix = found.isEmpty() ? "" : "##";
      while (end > 0 && !ids.containsKey(prefix + left.substring(0, end))) {
        end--;
      }
      if (end == 0) {
        return new int[] {0};
      }
      found.add(ids.get(prefix + left.substring(0, end)));
      left = left.substring(end);
    }
    return ints(found);
  }

  private static Bpe bpe(Map<String, Integer> ids, List<List<String>> merges) {
    MergeTable table = new MergeTable();
    for (List<String> merge : merges) {
      String merged = merge.get(0) + merge.get(1);
      table.add(id(ids, merge.get(0)), id(ids, merge.get(1)), id(ids, merged));
    }
    return new Bpe(
        new Vocabulary(ids), table, new Bpe.Settings(Vocabulary.NONE, false, false, false, "", ""));
  }

  private static int[] naiveBpe(String word, Map<String, Integer> ids, List<List<String>> merges) {
    List<String> symbols =
        new ArrayList<>(word.codePoints().mapToObj(Character::toString).toList());
    while (true) {
      int bestRank = merges.size();
      int bestAt = -1;
      for (int i = 0; i + 1 < symbols.size(); i++) {
        int rank = merges.indexOf(symbols.subList(i, i + 2));
        if (rank >= 0 && rank < bestRank) {
          bestRank = rank;
          bestAt = i;
        }
      }
      if (bestAt < 0) {
        return ints(symbols.stream().map(symbol -> id(ids, symbol)).toList());
      }
      symbols.set(bestAt, symbols.get(bestAt) + symbols.remove(bestAt + 1));
    }
  }

  /** Tries every way to cut; returns the likeliest, several where they are equally likely. */
  private static List<List<Integer>> naiveUnigram(
      String word, Map<String, Integer> ids, double[] scores) {
    double unknown = Arrays.stream(scores).min().orElseThrow() - 10;
    List<String> letters = word.codePoints().mapToObj(Character::toString).toList();
    double best = Double.NEGATIVE_INFINITY;
    List<List<Integer>> bestPaths = new ArrayList<>();
    for (int cuts = 0; cuts < 1 << (letters.size() - 1); cuts++) {
      double score = 0;
      List<Integer> path = new ArrayList<>();
      int from = 0;
      for (int to = 1; to <= letters.size(); to++) {
        if (to < letters.size() && ((cuts >> (to - 1)) & 1) == 0) {
          continue;
        }
        Integer id = ids.get(String.join("", letters.subList(from, to)));
        if (id != null) {
          score += scores[id];
          path.add(id);
        } else if (to - from == 1) {
          score += unknown;
          if (path.isEmpty() || path.getLast() != 0) {
            path.add(0);
          }
        } else {
          score = Double.NEGATIVE_INFINITY;
        }
        from = to;
      }
      if (score > best + 1e-9) {
        best = score;
        bestPaths.clear();
      }
      if (score > best - 1e-9) {
        bestPaths.add(path);
      }
    }
    return bestPaths;
  }

  private static int id(Map<String, Integer> ids, String token) {
    return java.util.Objects.requireNonNull(ids.get(token), token);
  }

  private static int[] ints(List<Integer> values) {
    return values.stream().mapToInt(value -> value).toArray();
  }
}
