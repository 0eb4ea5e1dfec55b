package dev.roundhouse.bundle.weights;

/** How the shapes in a weights file relate to what {@code @main} takes. */
public enum AxisOrder {
  /** Shape and bytes are those of the device: format 3. */
  ROW_MAJOR,
  /** The device wants every axis reversed, {@code dev[t1..tk] = file[tk..t1]}: format 2.0. */
  REVERSED
}
