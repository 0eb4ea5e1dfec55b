package dev.roundhouse.hooks.text;

/** Changes a text before it is split: case, accents, Unicode's forms. */
@FunctionalInterface
interface Normalizer {
  Normalizer NONE = text -> text;

  String normalize(String text);

  default Normalizer then(Normalizer next) {
    return text -> next.normalize(normalize(text));
  }
}
