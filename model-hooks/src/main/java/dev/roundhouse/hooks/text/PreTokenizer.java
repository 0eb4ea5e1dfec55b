package dev.roundhouse.hooks.text;

import java.util.ArrayList;
import java.util.List;

/** Splits a text into words; pieces without a character are left out. */
@FunctionalInterface
interface PreTokenizer {

  /** Adds what {@code piece}, which is text, is split into. */
  void split(Piece piece, List<Piece> into);

  default PreTokenizer then(PreTokenizer next) {
    return (piece, into) -> {
      List<Piece> between = new ArrayList<>();
      split(piece, between);
      for (Piece part : between) {
        next.split(part, into);
      }
    };
  }
}
