package dev.roundhouse.bundle.model;

/** One axis of a tensor in a contract. */
public sealed interface Axis {

  /** The batch axis: any number of rows, at most once per tensor. */
  Axis BATCH = new Batch();

  record Fixed(long extent) implements Axis {
    public Fixed {
      if (extent < 0) {
        throw new IllegalArgumentException("extent " + extent + " is negative");
      }
    }
  }

  record Batch() implements Axis {}

  /** An axis that each shape variant gives a size, named by a letter. */
  record Variable(char letter) implements Axis {}
}
