package dev.roundhouse.hooks.text;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Puts special tokens around a text or a pair.
 *
 * @param single what stands around one text
 * @param pair what stands around two
 */
record PostProcessor(List<Part> single, List<Part> pair) {

  /** A text of the pair, or special tokens, with the type that their positions get. */
  sealed interface Part {
    int typeId();
  }

  record TextPart(boolean second, int typeId) implements Part {}

  record SpecialPart(List<Integer> ids, int typeId) implements Part {}

  /** The texts one after the other. */
  static final PostProcessor NONE =
      new PostProcessor(
          List.of(new TextPart(false, 0)), List.of(new TextPart(false, 0), new TextPart(true, 1)));

  /** Returns how many special tokens stand beside one text, or beside two. */
  int added(boolean forPair) {
    return (forPair ? pair : single)
        .stream()
            .mapToInt(part -> part instanceof SpecialPart special ? special.ids.size() : 0)
            .sum();
  }

  Encoding process(int[] first, int @Nullable [] second) {
    IntList ids = new IntList();
    IntList typeIds = new IntList();
    for (Part part : second == null ? single : pair) {
      switch (part) {
        case SpecialPart special ->
            special.ids.forEach(
                id -> {
                  ids.add(id);
                  typeIds.add(special.typeId);
                });
        case TextPart text -> {
          int[] tokens = text.second && second != null ? second : first;
          for (int id : tokens) {
            ids.add(id);
            typeIds.add(text.typeId);
          }
        }
      }
    }
    return new Encoding(ids.toArray(), typeIds.toArray());
  }
}
