package dev.roundhouse.hooks.text;

/** Breaks one word, as the pre-tokenizer leaves it, into ids of the vocabulary. */
sealed interface SubwordModel permits WordPiece, Bpe, Unigram {

  void tokenize(String word, IntList ids);

  Vocabulary vocabulary();
}
