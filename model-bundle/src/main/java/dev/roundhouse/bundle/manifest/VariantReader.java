package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Shape variants: each gives every variable axis a size, and nothing else. */
final class VariantReader {
  private VariantReader() {}

  static List<Variant> read(Fields fields, String key, Set<Character> letters) {
    if (!fields.has(key)) {
      if (!letters.isEmpty()) {
        fields.problem(key, "is missing; it must give the variable axes " + letters + " sizes");
      }
      return List.of(Variant.SINGLE);
    }
    if (letters.isEmpty()) {
      fields.problem(key, "is there, but no axis is variable");
      return List.of(Variant.SINGLE);
    }
    List<Variant> variants = new ArrayList<>();
    for (Fields entry : fields.objects(key)) {
      Map<Character, Long> sizes = new TreeMap<>();
      for (String letter : entry.keys()) {
        if (letter.length() != 1 || !letters.contains(letter.charAt(0))) {
          entry.problem(letter, "is not a variable axis; those are " + letters);
        } else {
          entry
              .integer(letter, 1, Integer.MAX_VALUE)
              .ifPresent(size -> sizes.put(letter.charAt(0), size));
        }
      }
      for (Character letter : letters) {
        entry.require(letter.toString());
      }
      Variant variant = new Variant(sizes);
      if (variants.contains(variant)) {
        fields.problem(key, "holds " + sizes + " twice; entries are unique");
      }
      variants.add(variant);
    }
    if (variants.isEmpty()) {
      fields.problem(key, "is empty; it must give the variable axes " + letters + " sizes");
      return List.of(Variant.SINGLE);
    }
    return variants;
  }
}
